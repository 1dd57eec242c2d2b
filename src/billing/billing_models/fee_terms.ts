import { Type } from "@sinclair/typebox";
import type { ErrorDetail } from "../../core/errors.ts";
import { oneOf } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";

/** How many days from a subscription's start on, the first included, are free of charge. Decision 0242. */
export const TrialDays = Type.Integer({
  minimum: 0,
  maximum: LIMITS.trial_days,
  description: "days from a subscription's start that cost nothing, with their usage",
});

/** How long a fee is for. */
export const FEE_INTERVALS = ["month", "quarter", "half_year", "year"] as const;
export type FeeInterval = (typeof FEE_INTERVALS)[number];

export const MONTHS_OF: Readonly<Record<FeeInterval, number>> = {
  month: 1,
  quarter: 3,
  half_year: 6,
  year: 12,
};

/** Whether a fee is billed after its time, or when it begins. */
export const FEE_TIMINGS = ["in_arrears", "in_advance"] as const;
export type FeeTiming = (typeof FEE_TIMINGS)[number];

export const FeeIntervalName = oneOf(FEE_INTERVALS, "how long its fee is for");
export const FeeTimingName = oneOf(
  FEE_TIMINGS,
  "whether its fee is billed after its month, or when its interval begins",
);

/** The broken rules of a fee's interval. Decision 0243. */
export function feeRules(terms: {
  readonly fee_interval: FeeInterval;
  readonly fee_timing: FeeTiming;
}): ErrorDetail[] {
  const { fee_interval, fee_timing } = terms;
  if (fee_interval === "month" || fee_timing === "in_advance") return [];
  return [{ path: "/fee_timing", message: `must be in_advance where fee_interval is ${fee_interval}` }];
}
