import { importUsage, stageUsageImport } from "../../usage/import/store_block.ts";
import type { ImportSource } from "../../usage/import/model.ts";
import type { EventBlock } from "../../usage_store/duckdb/append/event_block.ts";
import type { Calendar } from "../calendar.ts";
import type { Line } from "../cast/subscriptions.ts";
import type { Call } from "../world.ts";
import { numberOf, SEED, type UsagePlan } from "./plan.ts";
import { type DayOfUsage, type Stretch, UsageRows } from "./rows.ts";

/** The usage of all subscriptions of the demo, by any stretch of time. */
export class UsageSource {
  readonly #calendar: Calendar;
  readonly #lines: readonly Line[];
  readonly #plan: UsagePlan;
  readonly #rows: UsageRows;

  private constructor(calendar: Calendar, lines: readonly Line[], plan: UsagePlan, rows: UsageRows) {
    this.#calendar = calendar;
    this.#lines = lines;
    this.#plan = plan;
    this.#rows = rows;
  }

  static async open(calendar: Calendar, lines: readonly Line[], plan: UsagePlan): Promise<UsageSource> {
    return new UsageSource(calendar, lines, plan, await UsageRows.open({ seed: SEED, times: plan.times }));
  }

  /** Makes the events of a stretch. One is made at a time. */
  async make(stretch: Stretch): Promise<EventBlock[]> {
    const blocks: EventBlock[] = [];
    for await (const block of this.#rows.blocks(this.#daysOf(stretch), stretch)) blocks.push(block);
    return blocks;
  }

  /** Stores what was made. Rows outside of their subscription's life are left out. Returns how many were stored. */
  async store(blocks: readonly EventBlock[], call: Call): Promise<number> {
    const keys = this.#lines.map(({ external_id }) => external_id);
    let stored = 0;
    for (const block of blocks) {
      const input = { subscription_field: "external_subscription_id", keys, source, block } as const;
      await call(stageUsageImport, input);
      stored += (await call(importUsage, input)).accepted;
    }
    return stored;
  }

  close(): void {
    this.#rows.close();
  }

  #daysOf({ from_ms, until_ms }: Stretch): DayOfUsage[] {
    const days: DayOfUsage[] = [];
    const zone = this.#calendar.now.timeZoneId;
    const first = Temporal.Instant.fromEpochMilliseconds(from_ms).toZonedDateTimeISO(zone).startOfDay();
    for (let at = first; at.epochMilliseconds < until_ms; at = at.add({ days: 1 })) {
      const date = at.toPlainDate();
      const day = this.#calendar.daysTo(date);
      for (const [code, line] of this.#lines.entries()) {
        const { product, rhythm, weight } = line;
        days.push({
          code,
          number: numberOf(line),
          product,
          rhythm,
          people: 4 + Math.round(6 * weight),
          day,
          day_ms: at.epochMilliseconds,
          events: this.#plan.eventsOn(line, date),
        });
      }
    }
    return days;
  }
}

/** Every row has its id: none derives from a file. */
function source(): Promise<ImportSource> {
  throw new Error("The demo's usage is of no file");
}
