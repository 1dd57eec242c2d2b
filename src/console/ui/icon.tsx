// Drawn on a grid of 16, in the colour of the text around them.
const PATHS = {
  overview: "M2 9h5V2H2zM9 6h5V2H9zM9 14h5V8H9zM2 14h5v-3H2z",
  usage: "M2 13V9m4 4V4m4 9V7m4 6V2",
  clients:
    "M6 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM1 14c0-3 2-4.5 5-4.5s5 1.5 5 4.5M11 2.5a3 3 0 0 1 0 5M13 10c1.3.7 2 2 2 4",
  subscriptions: "M2 5h12M2 5v8h12V5M2 5l2-3h8l2 3M6 9h4",
  products: "M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6",
  prices: "M2 2h6l6 6-6 6-6-6zM5 5h.01",
  bills: "M3 1.5h10v13l-2-1.5-1.5 1.5L8 13l-1.5 1.5L5 13l-2 1.5zM5.5 5h5M5.5 8h5",
  runs: "M3 8a5 5 0 1 1 1.5 3.5M3 13v-2h2M8 5v3l2 1",
  credits: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v6M6 6.5h3a1 1 0 0 1 0 2H7a1 1 0 0 0 0 2h3",
  limits: "M2 11a6 6 0 1 1 12 0M8 11l3-4",
  forms: "M3 2h10v12H3zM5.5 5h5M5.5 8h5M5.5 11H8",
  debits: "M2 6h12L8 2zM3 6v6m3-6v6m4-6v6m3-6v6M2 14h12",
  loans: "M2 9c2-2 4 0 6 0h3a1 1 0 0 1 0 2H8M2 13h9l3-3M9 5a2 2 0 1 0 0-.01",
  developers: "M5 4 1 8l4 4M11 4l4 4-4 4M9 3 7 13",
  settings:
    "M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 1v2m0 10v2M1 8h2m10 0h2M3 3l1.5 1.5m7 7L13 13M13 3l-1.5 1.5m-7 7L3 13",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3.5 3.5",
  menu: "M2 4h12M2 8h12M2 12h12",
  more: "M2.5 8h1M7.5 8h1M12.5 8h1",
  close: "M3 3l10 10M13 3 3 13",
  plus: "M8 3v10M3 8h10",
  check: "M3 8.5 6.5 12 13 4",
  copy: "M5 5V2h9v9h-3M2 5h9v9H2z",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  up: "M4 10l4-4 4 4",
  download: "M8 2v8m-3-3 3 3 3-3M2 14h12",
  external: "M9 2h5v5M14 2 7 9M12 9v5H2V4h5",
  warning: "M8 2 1 14h14zM8 6v4M8 12h.01",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 14c0-3 2.5-4.5 6-4.5s6 1.5 6 4.5",
  theme: "M8 2a6 6 0 1 0 0 12z M8 2a6 6 0 0 1 0 12",
  trash: "M3 4h10M6 4V2h4v2M4.5 4l.5 10h6l.5-10",
} as const;
export type IconName = keyof typeof PATHS;

/** A small picture beside a text that says the same. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
