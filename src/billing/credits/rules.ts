import { invalid } from "../../core/errors.ts";
import type { Period } from "../../core/periods.ts";
import { instant, later } from "../../core/time.ts";
import { wholeNumber } from "../../core/whole_number.ts";
import { allocatedCredits } from "../rating/credit_month.ts";
import type { CreditMonth } from "../rating/charges.ts";
import { segments, type TimelineEntry } from "../rating/segments.ts";
import type { BillingModel, CreditPlan } from "../billing_models/model.ts";
import { type CreditBalance, THRESHOLDS } from "./model.ts";

type Plan = Pick<BillingModel, "name" | "currency" | "credit_plan">;

/** The credits of a month outside the subscription's life. */
const NO_MONTH: CreditMonth = { allocated: 0n, consumed: 0n, overage: [] };

/** A month's consumption beyond the credits allocated by then. */
function overageOf({ overage }: CreditMonth): bigint {
  return overage.reduce((all, { credits }) => all + credits, 0n);
}

/**
 * A month's credits on the wire: consumption uses up the credits allocated by then, and the rest is overage. `month` is
 * null outside the subscription's life.
 */
export function balanceOf(
  { name, currency }: Plan,
  { credit_consumption, overage_rate }: CreditPlan,
  month: CreditMonth | null,
): CreditBalance {
  const { allocated, consumed } = month ?? NO_MONTH;
  const overage = overageOf(month ?? NO_MONTH);
  const used = consumed - overage;
  return {
    allocated: wholeNumber(allocated),
    used: wholeNumber(used),
    remaining: wholeNumber(allocated - used),
    overageUsed: wholeNumber(overage),
    overageRate: overage_rate === null ? null : Number(overage_rate),
    creditConsumption: credit_consumption,
    planName: name,
    currency,
  };
}

/** Checks that an upgrade leads to more credits, or a downgrade to fewer. Errors: invalid. Decision 0067. */
export function checkPlans(kind: "upgrade" | "downgrade", before: Plan, after: Plan): void {
  const [from, to] = [before.credit_plan, after.credit_plan];
  const path = "/new_billing_model_id";
  if (!from) throw invalid(path, "can't be changed to: the subscription is not credit-based");
  if (!to) throw invalid(path, "must be a credit plan");
  const difference = to.monthly_credits - from.monthly_credits;
  if (kind === "upgrade" && difference <= 0) {
    throw invalid(path, `must have more credits than the plan in force, ${from.monthly_credits} a month`);
  }
  if (kind === "downgrade" && difference >= 0) {
    throw invalid(path, `must have fewer credits than the plan in force, ${from.monthly_credits} a month`);
  }
}

/** A subscription's life and timeline. */
export interface CreditLife {
  readonly timeline: readonly TimelineEntry[];
  readonly started_at: string;
  readonly ends_at: string | null;
}

/** How many credits a plan adds to its month when it takes over at `from`. Decision 0067. */
export function creditsAdded(life: CreditLife, period: Period, plan: TimelineEntry): number {
  const bounds = {
    started_at: instant(life.started_at),
    ends_at: life.ends_at === null ? null : instant(life.ends_at),
  };
  const allocatedBy = (timeline: readonly TimelineEntry[]) =>
    allocatedCredits(segments(period, timeline, bounds), period) ?? 0n;
  return Number(allocatedBy([...life.timeline, plan]) - allocatedBy(life.timeline));
}

/** The thresholds that the use of a month's credits has reached. Decision 0067. */
export function reached(month: CreditMonth): number[] {
  const used = month.consumed - overageOf(month);
  return THRESHOLDS.filter(
    (percent) => month.consumed > 0n && used * 100n >= month.allocated * BigInt(percent),
  );
}

/** How much of a month's credits is used, in percent with one decimal, rounded down. */
export function usedPercent(month: CreditMonth): number {
  const used = month.consumed - overageOf(month);
  if (month.allocated === 0n) return month.consumed === 0n ? 0 : 100;
  return Number((used * 1_000n) / month.allocated) / 10;
}

/**
 * The day on which a month's credits run out if they are used as they were since it, or the subscription, began; null
 * where they last, where nothing was used, and where they are used up.
 */
export function runsOutOn(
  { allocated, consumed }: CreditMonth,
  { from, to, time_zone }: Period,
  { started_at }: { readonly started_at: string },
  now: Temporal.Instant,
): string | null {
  if (consumed === 0n || consumed >= allocated) return null;
  const begun = later(from, instant(started_at)).epochMilliseconds;
  const passed = BigInt(now.epochMilliseconds - begun);
  if (passed <= 0n) return null;
  const at = BigInt(begun) + (passed * allocated) / consumed;
  if (at >= BigInt(to.epochMilliseconds)) return null;
  return Temporal.Instant.fromEpochMilliseconds(Number(at))
    .toZonedDateTimeISO(time_zone)
    .toPlainDate()
    .toString();
}

/** Credits in an event: as text where a JSON number would lose digits. */
export function thresholdCredits(credits: bigint): number | string {
  const number = Number(credits);
  return Number.isSafeInteger(number) ? number : String(credits);
}

/** How late usage may arrive in the next month and still reach a threshold of its own. */
const LATE_MINUTES = 60;

/** The instants whose billing months are checked: now, and shortly before. */
export function watchedInstants(now: Temporal.Instant): [Temporal.Instant, Temporal.Instant] {
  return [now, now.subtract({ minutes: LATE_MINUTES })];
}
