import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../app/context.ts";
import type { StoredEvent, TotalsOptions, UsageStore } from "../../usage_store/port.ts";
import { toMillionths } from "../../usage_store/append/append_request.ts";
import { MeterReader, narrow } from "../../usage_store/meter_reader.ts";
import type { Meter } from "../meters/model.ts";
import type { BillLine } from "../rating/bill_line.ts";
import type { RecordedPart } from "./queries.ts";
import type { ModelOf } from "./terms_of_lines.ts";
import { assertionsOf, storedBy, windowOf } from "./verify_usage.ts";

/** The part of an event that decides which lines count it. */
type CountedEvent = Pick<StoredEvent, "timestamp" | "usage" | "metadata">;

/** A record with the currency of its lines. */
export type RecordInCurrency = RecordedPart & { readonly currency: string };

/** A line that counts an event, or takes back that an earlier one did. */
export interface LineOfEvent {
  readonly record: RecordInCurrency;
  readonly line: BillLine;
  readonly takes_back: boolean;
}

/**
 * The lines that count an event, of the records of its period, first to last: as `assertionsOf` has it, of those that it
 * `belongs` to, those of the first record by which it was stored. `isStoredBy`: whether a record could count it.
 */
export function linesOfEvent(
  records: readonly RecordInCurrency[],
  belongs: (line: BillLine) => boolean,
  isStoredBy: (record: RecordedPart) => boolean,
): LineOfEvent[] {
  return records.flatMap((record, i) => {
    const of_period = records
      .slice(0, i + 1)
      .filter(({ billingStartAt }) => billingStartAt === record.billingStartAt);
    return assertionsOf(of_period, record.currency).flatMap(({ line, until, since }) => {
      if (!belongs(line)) return [];
      const is_counted = until !== null && isStoredBy(until);
      const was_counted = since !== null && isStoredBy(since);
      return is_counted === was_counted ? [] : [{ record, line, takes_back: was_counted }];
    });
  });
}

/** Whether an event is one of those that a line is about: of its stretch, read by its meter, at its price. */
export function belongsTo(
  line: BillLine,
  { timestamp, usage, metadata }: CountedEvent,
  meters: ReadonlyMap<number, Meter>,
  modelOf: ModelOf,
): boolean {
  const { start_ms, end_ms } = windowOf(line, 0);
  if (timestamp < start_ms || timestamp >= end_ms) return false;
  if (typeof line.meter_id !== "number") return true;
  const meter = meters.get(line.meter_id);
  if (meter === undefined) throw new Error(`Cannot read a line: meter ${line.meter_id} is not there`);
  const reader = new MeterReader(meter, null);
  if (!reader.passes(metadata)) return false;
  const value =
    meter.aggregation === "unique"
      ? reader.textOf(metadata)
      : reader.valueOf(narrow(toMillionths(usage)), metadata);
  if (value === null) return false;
  const charge = modelOf(line.billing_model_id, line.add_on_id).charges.find(
    ({ code }) => code === line.charge_code,
  );
  const matches = charge?.prices.map(({ match }) => match) ?? [];
  const part = matches.find((match) => matchReader(match).passes(metadata));
  return isDeepStrictEqual(part ?? null, line.match ?? null);
}

/** Reads whether an event has the values that a price is of. */
const matchReader = (match: Readonly<Record<string, string>>) =>
  new MeterReader(
    {
      aggregation: "count",
      value: [],
      filters: Object.entries(match).map(([key, value]) => ({ key, op: "in" as const, values: [value] })),
      percentile: null,
      carry_over: false,
    },
    null,
  );

/** An event, and how many of its subscription have its timestamp. */
interface FoundEvent {
  readonly event: StoredEvent;
  readonly beside: number;
}

/** Finds an event by its id and its place. Errors: those of the usage store. */
export async function findEvent(
  usage: Pick<UsageStore, "search">,
  place: { company_id: number; subscription_id: number; timestamp: number; id: string },
  timeout_ms: number,
): Promise<FoundEvent | undefined> {
  const { company_id, subscription_id, timestamp, id } = place;
  const before = idBefore(id);
  const { rows, total } = await usage.search(
    {
      company_id,
      subscription_ids: [subscription_id],
      start_ms: timestamp,
      end_ms: timestamp + 1,
      sort_by: "timestamp",
      sort_order: "asc",
      limit: 1,
      offset: 0,
      // Many events may have one timestamp: it begins right before this one.
      ...(before !== undefined && { after: { value: String(timestamp), id: before } }),
    },
    timeout_ms,
  );
  const [event] = rows;
  return event?.id === id ? { event, beside: total } : undefined;
}

/** The id before an id, in the order of ids; undefined for the first. */
function idBefore(id: string): string | undefined {
  const number = BigInt(`0x${id.replaceAll("-", "")}`);
  if (number === 0n) return undefined;
  return (number - 1n)
    .toString(16)
    .padStart(32, "0")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * Which of the records could count an event: those by which it was stored. Events have no number outside of the store: it
 * is asked how many of this timestamp a record counted. Where those are some of them, they are the ones that were stored
 * first. Errors: those of the usage store. Decision 0311.
 */
export async function recordsAfter(
  ctx: Pick<Context, "usage" | "config">,
  company_id: number,
  { event, beside }: FoundEvent,
  records: readonly RecordedPart[],
): Promise<ReadonlySet<RecordedPart>> {
  const { subscription_id, timestamp, created_at } = event;
  const window = { subscription_id, start_ms: timestamp, end_ms: timestamp + 1 };
  const { usage_query_timeout_ms: timeout_ms } = ctx.config;
  const countBy = async (bounds: Omit<TotalsOptions, "timeout_ms">): Promise<number> => {
    const [total] = await ctx.usage.totals(company_id, [window], { ...bounds, timeout_ms });
    return total?.event_count ?? 0;
  };
  const found = new Set<RecordedPart>();
  // As many as were stored with it or before: asked for at the first record that counted some of them only.
  let stored: number | undefined;
  for (const record of records) {
    const counted = await countBy(storedBy(record));
    if (counted === 0) continue;
    const has_all = counted >= beside;
    if (!has_all) stored ??= await countBy({ created_until_ms: created_at + 1 });
    if (has_all || counted >= (stored ?? beside)) found.add(record);
  }
  return found;
}
