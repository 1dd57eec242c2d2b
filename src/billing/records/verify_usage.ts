import { atLeastZero, compare, subtract } from "../../core/money.ts";
import { instant } from "../../core/time.ts";
import type { TotalsOptions, UsageWindow, WindowTotal } from "../../usage_store/port.ts";
import { NO_DIGEST, subtractDigests } from "../../usage_store/digest.ts";
import { lineKey, isFullyReversed, netByLine } from "../rating/adjustment.ts";
import type { Difference, UsageProof, Verification } from "./model.ts";
import type { RecordedPart } from "./queries.ts";
import type { BillLine } from "../rating/bill_line.ts";

/**
 * A usage line's assertion: it holds the events of its stretch that were stored when the record `until` was written,
 * without those that were stored when the record `since` was. Null: no events.
 */
export interface UsageAssertion {
  readonly line: BillLine;
  readonly until: RecordedPart | null;
  readonly since: RecordedPart | null;
}

/**
 * The assertions of a period's last record; `records` are all of the period up to it, first to last. The first line
 * of a stretch asserts all of its events. A later one asserts those that came since the one before; one that takes
 * its stretch back, so that the sum of its lines is zero, takes away what the one before left. Decision 0072.
 */
export function assertionsOf(records: readonly RecordedPart[], currency: string): UsageAssertion[] {
  const record = records.at(-1);
  if (!record) return [];
  return record.lines.filter(countsEvents).map((line) => {
    const key = lineKey(line);
    const segment_records = records
      .slice(0, -1)
      .filter(({ lines }) => lines.some((part) => lineKey(part) === key));
    const isZeroSum = (parts: readonly RecordedPart[]) => {
      const remaining = netByLine(
        parts.flatMap(({ lines }) => lines),
        currency,
      ).get(key);
      return remaining === undefined || isFullyReversed(remaining);
    };
    const since = isZeroSum(segment_records) ? null : (segment_records.at(-1) ?? null);
    const is_taken_back = segment_records.length > 0 && isZeroSum([...segment_records, record]);
    return { line, until: is_taken_back ? null : record, since };
  });
}

/** Whether a line says which events it counts: those of usage, and of charges and add-ons with a meter. */
export function countsEvents({ kind, event_count }: BillLine): boolean {
  return kind === "usage" || ((kind === "charge" || kind === "add_on") && event_count !== null);
}

/** The bounds of the stored events that a record counts. */
export function storedBy({
  usage_until,
  usage_seq,
}: Pick<RecordedPart, "usage_until" | "usage_seq">): Omit<TotalsOptions, "timeout_ms"> {
  return { created_until_ms: instant(usage_until).epochMilliseconds, last_seq: usage_seq ?? undefined };
}

export function windowOf({ from, to }: BillLine, subscription_id: number): UsageWindow {
  const [start_ms, end_ms] = [from, to].map((bound) => instant(bound).epochMilliseconds);
  return { subscription_id, start_ms: start_ms ?? 0, end_ms: end_ms ?? 0 };
}

const NO_USAGE: WindowTotal = { units: "0", event_count: 0, corrections: 0, digest: NO_DIGEST };

/** Compares each assertion with the events. `differences`: those of the record's prices and sums. */
export function verify(
  assertions: readonly UsageAssertion[],
  count: (assertion: UsageAssertion, record: RecordedPart) => WindowTotal,
  record_lines: readonly BillLine[] = assertions.map(({ line }) => line),
  differences: readonly Difference[] = [],
): Verification {
  const lines = assertions.map((assertion) => {
    const { billing_model_id, from, to, quantity, event_count, usage_digest } = assertion.line;
    const until = assertion.until ? count(assertion, assertion.until) : NO_USAGE;
    const since = assertion.since ? count(assertion, assertion.since) : NO_USAGE;
    const expected = {
      quantity: subtract(atLeastZero(until.units), atLeastZero(since.units)),
      event_count: until.event_count - since.event_count,
      usage_digest: subtractDigests(until.digest, since.digest),
    };
    const actual = { quantity, event_count: event_count ?? 0, usage_digest: usage_digest ?? NO_DIGEST };
    const { charge_code, match } = assertion.line;
    const charge = charge_code === undefined ? {} : { charge_code, match: match ?? null };
    return { billing_model_id, from, to, ...charge, expected, actual };
  });
  const of_usage = lines.flatMap(({ expected, actual }, i) => {
    const line = assertions[i]?.line;
    return line ? usageDifferences(`/lines/${record_lines.indexOf(line)}`, expected, actual) : [];
  });
  const all = [...of_usage, ...differences];
  return { matches: all.length === 0, lines, differences: all };
}

function usageDifferences(path: string, expected: UsageProof, actual: UsageProof): Difference[] {
  const fields = [
    ["quantity", compare(expected.quantity, actual.quantity) === 0],
    ["event_count", expected.event_count === actual.event_count],
    ["usage_digest", expected.usage_digest === actual.usage_digest],
  ] as const;
  return fields.flatMap(([field, is_same]) =>
    is_same
      ? []
      : [{ path: `${path}/${field}`, expected: String(expected[field]), actual: String(actual[field]) }],
  );
}
