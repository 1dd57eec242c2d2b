import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { rateClosed } from "../billing_model_changes/adjust_closed_periods.ts";
import type { ChangeTimeline } from "../billing_model_changes/change_timeline.ts";
import { hasModelsInAdvance } from "../billing_models/queries.ts";
import { listRecorded, type NewRecord, type RecordedPart } from "../records/queries.ts";
import { rateAdvances } from "../runs/advances.ts";
import type { BillableSubscription } from "../runs/billable.ts";
import { CommitmentYears } from "../runs/commitment_years.ts";
import { nextRecord, periodKey, type RatedPeriod, recordKey } from "../runs/pipeline.ts";

/** The id of a record that nobody writes. */
const UNWRITTEN = 0;

/** What an applied change rates, in the order in which it writes: closed periods, then what was billed in advance. */
export async function rateApplied(
  ctx: Context,
  current: ChangeTimeline,
  since: IsoInstant,
  changed: BillableSubscription,
): Promise<RatedPeriod[]> {
  const { rated_periods } = await rateClosed(ctx, current, since, () => changed);
  return [...rated_periods, ...(await rateInAdvanceOf(readTx(ctx), changed, since))];
}

/** What a change or an end rates of what was billed in advance. */
export async function rateInAdvanceOf(
  tx: ReadTx,
  changed: BillableSubscription,
  since: IsoInstant,
): Promise<RatedPeriod[]> {
  return (await hasModelsInAdvance(tx)) ? rateAdvances(tx, changed, since) : [];
}

/** Rated bills of the same periods, as they would be billed without a change and with it. */
export interface BillsAround {
  readonly before: readonly RatedPeriod[];
  readonly after: readonly RatedPeriod[];
}

/**
 * The records that a change would write, after those of what is due before it; and the bills before and after these
 * records, since what a year owes depends on what is on record of its other months.
 */
export async function settle(
  tx: ReadTx,
  { due, own, bills }: { due: readonly RatedPeriod[]; own: readonly RatedPeriod[]; bills: BillsAround },
): Promise<{ records: NewRecord[]; bills: BillsAround }> {
  const all = [...due, ...own];
  const ids = [...new Set(all.map(({ subscription }) => subscription.id))];
  const starts = [...new Set(all.map(({ period }) => iso(period.from)))];
  const recorded = Map.groupBy(all.length === 0 ? [] : await listRecorded(tx, ids, starts), recordKey);
  const years = await new CommitmentYears().read(tx, [...all, ...bills.before, ...bills.after]);
  const write = (step: readonly RatedPeriod[]) =>
    step.flatMap((rated) => {
      const parts = recorded.get(periodKey(rated)) ?? [];
      const record = nextRecord(tx.scope, { billing_run_id: null }, years.withLines(rated), parts);
      if (record === null) return [];
      years.add(record);
      recorded.set(periodKey(rated), [...parts, asPart(record, tx.now)]);
      const { adjusts_billing_record_id: adjusts } = record;
      return [{ ...record, adjusts_billing_record_id: adjusts === UNWRITTEN ? null : adjusts }];
    });
  write(due);
  const before = bills.before.map((rated) => years.withLines(rated));
  const records = write(own);
  return { records, bills: { before, after: bills.after.map((rated) => years.withLines(rated)) } };
}

function asPart(record: NewRecord, now: Temporal.Instant): RecordedPart {
  return { ...record, id: UNWRITTEN, usage_seq: null, created_at: iso(now) };
}
