import { AppError } from "../../core/errors.ts";
import { recordedPeriod } from "../../core/periods.ts";
import { type IsoInstant, instant } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { hasModelsInAdvance } from "../billing_models/queries.ts";
import { listBegunPeriods, listRecordedBounds } from "../records/queries.ts";
import { listZones } from "../subscriptions/queries.ts";
import { type BillableSubscription, duePeriod } from "./billable.ts";
import { listBillable } from "./billable_queries.ts";
import { diff, type RatedPeriod, rateInAdvance } from "./pipeline.ts";
import { write } from "./write_records.ts";

/** The longest interval of a fee, and some days. */
const LONGEST_INTERVAL = Temporal.Duration.from({ hours: 24 * 370 });

/**
 * Adjusts what was billed in advance of a subscription, by its timeline and its end as they are in this transaction:
 * of running periods, and of intervals that reach beyond `since`. Returns the ids of the records that it wrote.
 * Errors: unavailable. Decision 0243.
 */
export async function adjustAdvances(tx: Tx, subscription_id: number, since: IsoInstant): Promise<number[]> {
  if (!(await hasModelsInAdvance(tx))) return [];
  const [subscription] = await listBillable(tx, { ids: [subscription_id], limit: 1 });
  if (!subscription) return [];
  const rated = await rateAdvances(tx, subscription, since);
  const outcomes = await write(tx, await diff(tx, { billing_run_id: null, dry_run: false }, rated));
  // Another call was first: what it wrote is not known here.
  if (outcomes.some(({ result }) => result !== "written" && result !== "unchanged"))
    throw new AppError("unavailable", "Too many changes at once: try again", { retry_after_s: 1 });
  return outcomes.flatMap((outcome) => (outcome.result === "written" ? (outcome.record.id ?? []) : []));
}

/** Rates what was billed in advance of a subscription, of the periods that `adjustAdvances` adjusts. */
export async function rateAdvances(
  tx: ReadTx,
  subscription: BillableSubscription,
  since: IsoInstant,
): Promise<RatedPeriod[]> {
  const { id, billing_anchor_day } = subscription;
  const zones = await listZones(tx);
  const begun = (await listBegunPeriods(tx, [id])).get(id) ?? [];
  const isBegun = (from: Temporal.Instant) => begun.some(({ bounds }) => bounds.from.equals(from));
  const earliest = instant(since).subtract(LONGEST_INTERVAL);
  const due = ((await listRecordedBounds(tx, [id])).get(id) ?? [])
    .filter(({ from }) => isBegun(from) || Temporal.Instant.compare(from, earliest) > 0)
    .map((bounds) => recordedPeriod(bounds, billing_anchor_day, zones))
    .map((period) => duePeriod(subscription, period, zones, "advance"));
  const { done, failed } = await rateInAdvance(due);
  if (failed[0]) throw new Error(failed[0].message);
  return done;
}
