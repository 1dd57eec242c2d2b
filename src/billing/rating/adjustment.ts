import { isZero, roundMoney, subtract, sum } from "../../core/money.ts";
import { addDigests, negateDigest, NO_DIGEST } from "../../usage_store/digest.ts";
import type { BillLine } from "./bill_line.ts";
import { sortLines } from "./charges.ts";

/**
 * The key of a charge: lines of one kind, model and stretch, for as many of its days, are the same charge. A setup fee
 * is the same however long its stretch is, and the fee of an interval wherever another time zone puts its end; a
 * commitment to a year has one line of a kind in each period.
 */
export function lineKey(line: BillLine): string {
  const { kind, billing_model_id, add_on_id, from, to, proration, charge_code, match } = line;
  if (line.commitment_interval) return `${kind} ${billing_model_id} ${line.commitment_interval}`;
  const end = kind === "setup" || line.fee_interval ? "" : to;
  // An add-on goes on through changes of the plan.
  const owner = add_on_id ?? billing_model_id;
  const key = [kind, owner, from, end, proration?.numerator, ...(line.trial ? ["trial"] : [])].join(" ");
  return charge_code === undefined ? key : `${key} ${charge_code} ${JSON.stringify(match)}`;
}

/** The sum of two lines: quantity, amount, events and their digest. The rest is `a`'s. */
function plus(a: BillLine, b: BillLine, currency: string): BillLine {
  return {
    ...a,
    ...skipped((a.skipped_events ?? 0) + (b.skipped_events ?? 0), a),
    quantity: sum([a.quantity, b.quantity]),
    amount: roundMoney(sum([a.amount, b.amount]), currency),
    event_count: a.event_count === null ? null : a.event_count + (b.event_count ?? 0),
    usage_digest: a.usage_digest === null ? null : addDigests(a.usage_digest, b.usage_digest ?? NO_DIGEST),
  };
}

/** Skipped events, where a line counts them. */
function skipped(skipped_events: number, { skipped_events: own }: BillLine): Partial<BillLine> {
  return own === undefined ? {} : { skipped_events };
}

function negative(line: BillLine, currency: string): BillLine {
  return {
    ...line,
    quantity: subtract("0", line.quantity),
    amount: roundMoney(subtract("0", line.amount), currency),
    event_count: line.event_count === null ? null : 0 - line.event_count,
    usage_digest: line.usage_digest === null ? null : negateDigest(line.usage_digest),
    ...skipped(0 - (line.skipped_events ?? 0), line),
  };
}

/** The sum of all lines of each charge, by its key. */
export function netByLine(lines: readonly BillLine[], currency: string): Map<string, BillLine> {
  const groups = Map.groupBy(lines, lineKey);
  return new Map([...groups].map(([key, group]) => [key, group.reduce((a, b) => plus(a, b, currency))]));
}

/** The line with a prefix to its description, in place of an earlier one. */
function withDescription(as: "Adjustment" | "Reversal", line: BillLine): BillLine {
  return { ...line, description: `${as}: ${line.description.replace(/^(Adjustment|Reversal): /, "")}` };
}

/** Whether the sum of all lines of a charge is zero: it was taken back. */
export function isFullyReversed({ amount, quantity, event_count }: BillLine): boolean {
  return isZero(amount) && isZero(quantity) && (event_count ?? 0) === 0;
}

/** Whether a line moves neither money nor units nor events. */
function isEmptyLine({ kind, amount, quantity, event_count }: BillLine): boolean {
  const is_metered = (kind === "charge" || kind === "add_on") && event_count !== null;
  const counts_units = kind === "usage" || kind === "overage" || is_metered;
  return isZero(amount) && (event_count ?? 0) === 0 && !(counts_units && !isZero(quantity));
}

/**
 * The lines of a period's next record: the expected lines less every line already on record for the period.
 *
 * - Nothing on record: the expected lines, zero ones too, since a closed period is always visible.
 * - Otherwise the differences, an adjustment. A line on record that is expected no more (the bounds or days
 *   of its segment changed) is reversed; a new one is added whole; one that grew or shrank adds the
 *   difference; one that moves no money, units or events is left out.
 *
 * `is_first_of_all`: whether the record is the period's own, though some of its lines were billed in advance. It has
 * every line that is new, zero ones too.
 *
 * So the lines of all records add up to the expected ones, and once the difference is recorded, taking it
 * again finds nothing. The order of either list does not matter.
 *
 * The events of an adjustment are its own: the late ones (as many as event_count, digested by usage_digest);
 * a reversal takes its line's events back, with a negative count and digest. At any record, the lines of one
 * charge add up to the count and digest of the events in `[from, to)` that were stored when it was written.
 * Decision 0030.
 */
export function adjustmentLines(
  expected: readonly BillLine[],
  recorded: readonly BillLine[],
  currency: string,
  is_first_of_all = false,
): BillLine[] {
  if (recorded.length === 0) return sortLines(expected);
  const before = netByLine(recorded, currency);
  const wanted = netByLine(expected, currency);
  const now = [...wanted].map(([key, line]) => {
    const on_record = before.get(key);
    return on_record
      ? withDescription("Adjustment", plus(line, negative(on_record, currency), currency))
      : line;
  });
  const removed = [...before]
    .filter(([key]) => !wanted.has(key))
    .map(([, line]) => withDescription("Reversal", negative(line, currency)));
  const isNew = (line: BillLine) => is_first_of_all && !before.has(lineKey(line));
  return sortLines([...now, ...removed].filter((line) => isNew(line) || !isEmptyLine(line)));
}
