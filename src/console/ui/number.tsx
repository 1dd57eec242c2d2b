import { change, number, shortNumber } from "../text/number.ts";

/** A large number in few characters, whole on hover and when read out. */
export function Short({ of }: { of: string | number }) {
  const [short, whole] = [shortNumber(of), number(of)];
  if (short === whole) return <>{whole}</>;
  return (
    <span title={whole}>
      <span aria-hidden="true">{short}</span>
      <span class="unseen">{whole}</span>
    </span>
  );
}

/** How a figure changed from another: "▲ +12.5%", and since when. `good` says which way is. */
export function Change(props: {
  now: number;
  before: number;
  /** "than last week". */
  since: string;
  good?: "up" | "down" | "neither";
}) {
  const { now, before, since, good = "neither" } = props;
  const by = change(now, before);
  if (by === undefined) return <span class="soft">nothing {since}</span>;
  const direction = now > before ? "up" : now < before ? "down" : "neither";
  const tone = direction === "neither" || good === "neither" ? "" : direction === good ? "better" : "worse";
  return (
    <span class="change">
      <span class={tone}>
        <span aria-hidden="true">{{ up: "▲", down: "▼", neither: "" }[direction]}</span> {by}
      </span>{" "}
      {since}
    </span>
  );
}
