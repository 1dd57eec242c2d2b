import type { Period } from "../../core/periods.ts";
import type { RunRecord } from "./model.ts";
import type { BillableSubscription } from "./billable.ts";

/** A period of a subscription to reconcile; the subscription as it was read. */
export interface DuePeriod {
  readonly subscription: BillableSubscription;
  readonly period: Period;
  /** Whether an adjustment that moves no money is too soon: it is told with the next bill. */
  readonly is_quiet?: boolean;
}

/** What reconciling a period came to. `message` tells which fact can't be billed. */
export type Outcome = { readonly item: DuePeriod } & (
  | { readonly result: "written"; readonly record: RunRecord }
  | { readonly result: "unchanged" }
  | { readonly result: "failed"; readonly message: string }
);

/** An item that could not be billed, and why. */
export function failure(item: DuePeriod, error: unknown): Outcome {
  return { item, result: "failed", message: error instanceof Error ? error.message : String(error) };
}

/** Applies a pure rule to each item; one that the rule can't take fails alone. */
export function attemptEach<I extends DuePeriod | { item: DuePeriod }, R>(
  items: readonly I[],
  rule: (item: I) => R,
): { done: R[]; failed: Outcome[] } {
  const done: R[] = [];
  const failed: Outcome[] = [];
  for (const item of items) {
    try {
      done.push(rule(item));
    } catch (error) {
      failed.push(failure("item" in item ? item.item : item, error));
    }
  }
  return { done, failed };
}
