import { compare, type Decimal, multiply } from "../../core/money.ts";
import type { TotalWindow } from "../../usage_store/running_totals.ts";
import type { Window } from "../grants/windows.ts";
import type { Alert } from "./model.ts";

/** What is told of from an amount on: a threshold of an alert, or a limit that is used up. */
export interface Step {
  readonly amount: Decimal;
  /** As it is told: an amount, or percents of the limit. */
  readonly threshold: Decimal;
  /** Null: of the limit itself. */
  readonly alert: Alert | null;
}

/** What a value in a window is held against. */
export interface Scale {
  /** What makes it one: another window, limit or threshold makes another. */
  readonly key: string;
  readonly subscription_id: number;
  /** The meter, the feature, or what else is counted. */
  readonly counted: string;
  readonly window: Window;
  readonly bounds: Pick<TotalWindow, "start_ms" | "end_ms">;
  readonly limit: Decimal | null;
  readonly per: string | null;
  /** The least first. */
  readonly steps: readonly Step[];
}

/** A scale of these steps. */
export function scaleOf(scale: Omit<Scale, "key" | "steps">, steps: readonly Step[]): Scale {
  const { subscription_id, counted, window, bounds, limit, per } = scale;
  const sorted = steps.toSorted((a, b) => compare(a.amount, b.amount));
  const told_by = sorted.map(({ alert, threshold }) => [alert?.id ?? null, threshold]);
  const key = [subscription_id, counted, window, bounds.start_ms, bounds.end_ms, limit, per, told_by];
  return { ...scale, key: JSON.stringify(key), steps: sorted };
}

/** The steps of an alert on amounts. */
export function amountSteps(alert: Alert): Step[] {
  return alert.thresholds.map((threshold) => ({ amount: threshold, threshold, alert }));
}

/** The steps of an alert on percents of a limit, or of the limit itself. */
export function percentSteps(limit: Decimal, alert: Alert | null): Step[] {
  return (alert?.thresholds ?? ["100"]).map((threshold) => {
    const amount = threshold === "100" ? limit : multiply(multiply(limit, threshold), "0.01");
    return { amount, threshold, alert };
  });
}

/** How many of a scale's steps a value has come to, of which `known` are known. Nothing is reached where nothing was used. */
export function reachedSteps({ steps }: Pick<Scale, "steps">, value: Decimal, known: number): number {
  if (compare(value, "0") <= 0) return known;
  let reached = known;
  for (let next = steps[reached]; next && compare(value, next.amount) >= 0; next = steps[reached]) reached++;
  return reached;
}
