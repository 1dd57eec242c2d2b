import type { Calendar } from "../calendar.ts";
import type { Line } from "../cast/subscriptions.ts";
import { CLIENTS } from "../cast/clients.ts";
import { WHOLE } from "../cast/size.ts";
import { noise } from "../dice.ts";
import { growth, rampUp, shareOfDay } from "./shapes.ts";

/** What decides all that the cast leaves open. */
export const SEED = 20_251_101;

/** The subscriptions of the whole demo. */
const LINES = CLIENTS.reduce((sum, { lines }) => sum + lines.length, 0);

/** How many events each subscription has on each day: by the seed alone, whatever days are asked for. */
export class UsagePlan {
  readonly #calendar: Calendar;
  readonly #factor: number;
  /** How many times the units of the whole demo an event has: where there are fewer, sums are as large. */
  readonly times: number;

  /** `events`: of all lines, from the first day until the calendar's now. */
  constructor({
    calendar,
    lines,
    events,
  }: {
    calendar: Calendar;
    lines: readonly Line[];
    events: number;
  }) {
    this.#calendar = calendar;
    const share = lines.length / LINES;
    this.times = Math.max(1, Math.round((WHOLE.events * share) / Math.max(1, events)));
    const days = calendar.daysTo(calendar.today);
    let whole = 0;
    for (const line of lines)
      for (let i = 0; i < days; i++) whole += this.#weightOf(line, calendar.start.add({ days: i }));
    this.#factor = whole === 0 ? 0 : events / whole;
  }

  /** The events of a line on a day; a part of one is there on some days. */
  eventsOn(line: Line, day: Temporal.PlainDate): number {
    const events = this.expectedOn(line, day);
    const whole = Math.floor(events);
    return whole + (noise(SEED, 1, numberOf(line), numberOfDay(day)) < events - whole ? 1 : 0);
  }

  expectedOn(line: Line, day: Temporal.PlainDate): number {
    return this.#weightOf(line, day) * this.#factor;
  }

  #weightOf(line: Line, day: Temporal.PlainDate): number {
    const { from, until, weight, rhythm } = line;
    if (Temporal.PlainDate.compare(day, from) < 0) return 0;
    if (until !== null && Temporal.PlainDate.compare(day, until) >= 0) return 0;
    const age = from.until(day, { largestUnit: "days" }).days;
    const jitter = 0.85 + 0.3 * noise(SEED, 2, numberOf(line), numberOfDay(day));
    return (
      weight *
      shareOfDay(rhythm, day) *
      growth(this.#calendar.daysTo(day)) *
      rampUp(age) *
      jitter *
      this.#newsOf(line, day)
    );
  }

  /** What happened to somebody on a day. */
  #newsOf({ external_id, until }: Line, day: Temporal.PlainDate): number {
    const days_ago = day.until(this.#calendar.today, { largestUnit: "days" }).days;
    // A campaign of the largest client that went round the country.
    if (external_id === "tanjung-chat-1") return SPIKE[days_ago] ?? 1;
    // An afternoon on which the company's machines stood still.
    if (days_ago === 97) return 0.45;
    // Who is about to leave uses it less.
    const left = until === null ? 60 : day.until(until, { largestUnit: "days" }).days;
    return left < 60 ? 0.2 + (0.8 * left) / 60 : 1;
  }
}

/** How often an ordinary day's usage it was, by the number of days since then. */
const SPIKE: Readonly<Record<number, number>> = { 41: 2.5, 40: 9, 39: 6, 38: 3.2, 37: 1.8, 36: 1.3 };

const numbers = new Map<string, number>();

/** A number that the line's name makes. */
export function numberOf({ external_id }: Line): number {
  const known = numbers.get(external_id);
  if (known !== undefined) return known;
  const number = Bun.hash.crc32(external_id);
  numbers.set(external_id, number);
  return number;
}

function numberOfDay(day: Temporal.PlainDate): number {
  return day.year * 372 + day.month * 31 + day.day;
}
