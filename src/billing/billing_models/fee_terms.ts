import { Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";

/** How many days from a subscription's start on, the first included, are free of charge. Decision 0242. */
export const TrialDays = Type.Integer({
  minimum: 0,
  maximum: LIMITS.trial_days,
  description: "days from a subscription's start that cost nothing, with their usage",
});

/** How long a fee is for. */
export const FEE_INTERVALS = ["month", "quarter", "half_year", "year"] as const;

/** Whether a fee is billed after its time, or when it begins. */
export const FEE_TIMINGS = ["in_arrears", "in_advance"] as const;
