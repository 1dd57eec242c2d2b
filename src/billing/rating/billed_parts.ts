import { isZero, sum } from "../../core/money.ts";
import { adjustmentLines } from "./adjustment.ts";
import type { BillLine } from "./bill_line.ts";
import type { RecordKind } from "./record_kinds.ts";

/** What is reconciled of a period: all of it, what is billed in advance, or its usage so far. */
export type BilledPart = "whole" | "advance" | "interim";

/** A record of a period, as far as the next one depends on it. */
interface RecordedLines {
  readonly id: number;
  readonly kind: RecordKind;
  readonly lines: readonly BillLine[];
}

/** The record that is missing of a period, but for whose it is. */
export interface MissingRecord {
  readonly kind: RecordKind;
  readonly adjusts_billing_record_id: number | null;
  readonly lines: readonly BillLine[];
}

const isOfInterval = ({ fee_interval }: BillLine) => fee_interval !== undefined;
const METERED: readonly BillLine["kind"][] = ["setup", "usage", "maximum_cap", "overage", "commitment_cap"];

/** Whether a line is of usage, or of what limits its price; the setup fee is in the first record, whatever it is. */
const isMetered = ({ kind, event_count }: BillLine) =>
  METERED.includes(kind) || ((kind === "charge" || kind === "add_on") && event_count !== null);

const isFee = ({ kind }: BillLine) => kind === "fee" || kind === "setup";

/**
 * The lines that are compared to find what is missing of a part of a period. Of what is billed in advance: in a running
 * period the fees of models in advance, with all fees on record, since no others are there yet; the setup fee with
 * them, or where it is on record. In a closed one the fees of intervals beyond a month. Of usage so far: all lines that
 * events make. Decisions 0243, 0244.
 */
export function comparedLines(
  part: BilledPart,
  expected: readonly BillLine[],
  records: readonly RecordedLines[],
  isInAdvance: (billing_model_id: number) => boolean,
): { readonly expected: readonly BillLine[]; readonly recorded: readonly BillLine[] } {
  const on_record = records.flatMap(({ lines }) => lines);
  if (part === "whole") return { expected, recorded: on_record };
  if (part === "interim")
    return { expected: expected.filter(isMetered), recorded: on_record.filter(isMetered) };
  if (isClosed(records)) {
    return { expected: expected.filter(isOfInterval), recorded: on_record.filter(isOfInterval) };
  }
  const has_setup = on_record.some(({ kind }) => kind === "setup");
  const isDue = (line: BillLine) =>
    isInAdvance(line.billing_model_id) || (line.kind === "setup" && has_setup);
  return {
    expected: expected.filter((line) => isFee(line) && isDue(line)),
    recorded: on_record.filter(isFee),
  };
}

/** Whether a period's own record is there. */
export function isClosed(records: readonly Pick<RecordedLines, "kind">[]): boolean {
  return records.some(({ kind }) => kind === "period");
}

/**
 * The record that is missing of a part of a period, or null when those on record, first to last, are complete. A
 * closed period always has its own record, zero or not; before it none is written that comes to nothing.
 */
export function missingRecord(
  part: BilledPart,
  {
    expected: all,
    records,
    currency,
  }: {
    readonly expected: readonly BillLine[];
    readonly records: readonly RecordedLines[];
    readonly currency: string;
  },
  isInAdvance: (billing_model_id: number) => boolean,
): MissingRecord | null {
  if (part === "interim" && isClosed(records)) return null;
  const { expected, recorded } = comparedLines(part, all, records, isInAdvance);
  const kind = nextKind(part, records);
  const is_own = kind === "period";
  const lines = adjustmentLines(expected, recorded, currency, is_own && recorded.length > 0);
  if (!is_own && lines.length === 0) return null;
  const is_ahead = kind === "advance" || kind === "interim";
  if (is_ahead && isZero(sum(lines.map(({ amount }) => amount)))) return null;
  const adjusted = records.find((record) => record.kind === (part === "advance" ? "advance" : "period"));
  const adjusts = kind === "adjustment" ? (adjusted ?? records[0]) : undefined;
  return { kind, adjusts_billing_record_id: adjusts?.id ?? null, lines };
}

function nextKind(part: BilledPart, records: readonly RecordedLines[]): RecordKind {
  if (isClosed(records)) return "adjustment";
  if (part === "whole") return "period";
  if (part === "interim") return "interim";
  return records.some(({ kind }) => kind === "advance") ? "adjustment" : "advance";
}
