import { isZero, roundMoney, subtract } from "../../core/money.ts";
import { daysOf, type Period } from "../../core/periods.ts";
import type { BillLine } from "./bill_line.ts";
import { COMMITMENT_KINDS, commitmentLine, committed } from "./charge_lines.ts";
import { total } from "./charges.ts";
import { joinStretches, type Life, type Segment, segments, type TimelineEntry } from "./segments.ts";

/** The kinds of lines that a commitment looks at: usage and charges, not fees. */
export const COMMITTED: readonly BillLine["kind"][] = ["usage", "maximum_cap", "minimum_true_up", "charge"];

/** A year of a subscription, as it stands for one of its periods. */
export interface CommitmentYear {
  /** Its twelve periods. */
  readonly months: readonly Period[];
  /** Those of them that count, where not all do. */
  readonly counted?: readonly Period[];
  /** The lines on record of the other periods. */
  readonly recorded: readonly BillLine[];
  /** Whether its last period is closed, or is the one that is billed: then the minimum is due. */
  readonly is_over: boolean;
}

/**
 * The lines that a period's bills have of commitments to a year: what the year's usage and charges are over the maximum
 * or, once the year is over, under the minimum by the plan's days, less what other periods' bills have of it. `own`: the
 * period's other lines. Whichever period is billed or adjusted next, all of them add up to what the year comes to.
 * Decision 0258.
 */
export function yearlyCommitmentLines(
  own: readonly BillLine[],
  { months, counted = months, recorded, is_over }: CommitmentYear,
  timeline: readonly TimelineEntry[],
  life: Life,
): BillLine[] {
  const denominator = months.reduce((days, month) => days + daysOf(month), 0);
  const parts = counted
    .flatMap((month) => segments(month, timeline, life))
    .filter(({ model, is_trial }) => model.commitment?.interval === "year" && !is_trial)
    .map((segment) => ({ segment: { ...segment, proration: { ...segment.proration, denominator } } }));
  return [...Map.groupBy(parts, ({ segment }) => segment.model.id).values()].flatMap(([first, ...rest]) =>
    first ? linesOf(joinStretches([first, ...rest]), own, recorded, is_over) : [],
  );
}

/** Those of one plan, joined over its days of the year. */
function linesOf(
  whole: Segment,
  own: readonly BillLine[],
  recorded: readonly BillLine[],
  is_over: boolean,
): BillLine[] {
  const { id, currency, commitment } = whole.model;
  if (commitment === null) return [];
  const of_model = [...own, ...recorded].filter((line) => line.billing_model_id === id);
  const charged = total(
    of_model.filter(({ kind }) => COMMITTED.includes(kind)),
    currency,
  );
  const wanted = committed(whole, is_over ? commitment : { ...commitment, minimum: null }, charged);
  return COMMITMENT_KINDS.flatMap((kind) => {
    const elsewhere = recorded.filter(
      (line) => isOfYear(line) && line.kind === kind && line.billing_model_id === id,
    );
    const amount = roundMoney(subtract(wanted[kind], total(elsewhere, currency)), currency);
    return isZero(amount) ? [] : commitmentLine(whole, commitment, kind, amount);
  });
}

const isOfYear = ({ commitment_interval }: BillLine) => commitment_interval === "year";
