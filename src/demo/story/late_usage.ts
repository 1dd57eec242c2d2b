import { recordUsage } from "../../usage/ingest/service.ts";
import { findLine, type Plot } from "./plot.ts";
import type { Routine } from "./routine.ts";

/** Usage that a client's own systems held back: how many days ago it came, and how much older it is. */
const HELD_BACK = [
  { external_id: "tanjung-chat-2", days_ago: 205, older: 12, events: 60 },
  { external_id: "lazuli-documents", days_ago: 128, older: 9, events: 40 },
  { external_id: "pulau-documents", days_ago: 82, older: 25, events: 90 },
  { external_id: "cendana-speech", days_ago: 55, older: 30, events: 35 },
  { external_id: "nusantara-embed", days_ago: 26, older: 40, events: 50 },
  // Too late for the nightly look at closed months: it stays unbilled until somebody bills that month again.
  { external_id: "bayu-embed", days_ago: 18, older: 150, events: 20 },
];

/** Units of one event. */
const UNITS: Readonly<Record<string, number>> = { chat: 1_800, embed: 21_000, documents: 6, speech: 60 };

/** Usage that comes when its month is billed, and corrections of what was counted twice. */
export function sendLateUsage(plot: Plot, routine: Routine): void {
  const { agenda, calendar } = plot;
  for (const { external_id, days_ago, older, events } of HELD_BACK) {
    const line = findLine(plot, external_id);
    const of_day = calendar.ago(days_ago + older);
    if (line === undefined || Temporal.PlainDate.compare(of_day, line.from) < 0) continue;
    const units = UNITS[line.product] ?? 1;
    agenda.note(calendar.at(calendar.ago(days_ago), "08:40"), () =>
      send(plot, external_id, of_day, { events, units }),
    );
    routine.recheckOn(calendar.ago(days_ago - 1));
  }
  if (findLine(plot, "tanjung-documents") === undefined) return;
  agenda.note(calendar.at(calendar.ago(11), "09:15"), () =>
    send(plot, "tanjung-documents", calendar.ago(14), { events: 8, units: -3 }),
  );
}

/** By the gateway that sends the company's usage. */
async function send(
  { world, calendar }: Plot,
  external_subscription_id: string,
  day: Temporal.PlainDate,
  { events, units }: { events: number; units: number },
): Promise<void> {
  const start_ms = calendar.at(day, "09:00").epochMilliseconds;
  const batch = Array.from({ length: events }, (_, i) => ({
    id: uuidOf(world.roll),
    external_subscription_id,
    timestamp: start_ms + i * 190_000,
    usage: units < 0 ? units : units + world.roll(Math.ceil(units / 3)),
    metadata: { region: "kul", resent: true },
  }));
  await world.pass("gateway", recordUsage, batch);
}

function uuidOf(roll: (n: number) => number): string {
  const hex = Array.from({ length: 4 }, () =>
    roll(2 ** 32)
      .toString(16)
      .padStart(8, "0"),
  ).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
