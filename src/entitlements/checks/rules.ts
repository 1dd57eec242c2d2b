import type { Reason } from "./model.ts";
import { atLeastZero, compare, type Decimal, subtract, sum } from "../../core/money.ts";

/** A limit, and how far it is used. */
export interface UsedLimit {
  /** Null: without a bound. */
  readonly limit: Decimal | null;
  readonly hard: boolean;
  readonly used: Decimal;
  readonly reserved: Decimal;
  /** Whether `used` is of all stored usage. */
  readonly certain: boolean;
  /** When the next window begins, Unix ms; null: never. */
  readonly resets_ms: number | null;
}

/** What a check decides. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: Reason | null;
  /** The limit that decides: the first that refuses, else the first that tells, else that with the least left. */
  readonly shown: UsedLimit | null;
  readonly certain: boolean;
}

/** What is left of a limit, not below zero; null without a bound. */
export function remainingOf({ limit, used, reserved }: UsedLimit): Decimal | null {
  return limit === null ? null : atLeastZero(subtract(limit, sum([used, reserved])));
}

/** Whether the units fit into all limits; while any total is not certain, `if_uncertain` decides. Decision 0235. */
export function decide(
  limits: readonly UsedLimit[],
  units: Decimal,
  if_uncertain: "allow" | "deny",
): Decision {
  const over = limits.filter((limit) => !fits(limit, units));
  const shown = over.find(({ hard }) => hard) ?? over[0] ?? tightest(limits);
  if (limits.some(({ certain }) => !certain)) return { ...unknown(if_uncertain), shown };
  if (over.length === 0) return { allowed: true, reason: null, shown, certain: true };
  return { allowed: over.every(({ hard }) => !hard), reason: "limit", shown, certain: true };
}

/** A limit on what a subscription comes to. */
interface SpendLimit {
  readonly amount: Decimal;
  readonly hard: boolean;
}

/**
 * A decision, and then that of the spend limits: what has come to a hard one goes on no more, of a soft one it is told.
 * `spent` is null while the running charges are not known: then `if_uncertain` decides. Decision 0252.
 */
export function decideSpend(
  decision: Decision,
  limits: readonly SpendLimit[],
  spent: Decimal | null,
  if_uncertain: "allow" | "deny",
): Decision {
  if (!decision.allowed || limits.length === 0) return decision;
  if (spent === null) return { ...decision, ...unknown(if_uncertain) };
  const reached = limits.filter(({ amount }) => compare(spent, amount) >= 0);
  if (reached.some(({ hard }) => hard)) return { ...decision, allowed: false, reason: "spend_limit" };
  return reached.length === 0 ? decision : { ...decision, reason: decision.reason ?? "spend_limit" };
}

/** What is decided while nobody knows what was used. */
function unknown(if_uncertain: "allow" | "deny"): Omit<Decision, "shown"> {
  const allowed = if_uncertain === "allow";
  return { allowed, reason: allowed ? null : "uncertain", certain: false };
}

function fits({ limit, used, reserved }: UsedLimit, units: Decimal): boolean {
  return limit === null || compare(sum([used, reserved, units]), limit) <= 0;
}

function tightest(limits: readonly UsedLimit[]): UsedLimit | null {
  return limits.reduce<UsedLimit | null>((least, limit) => {
    if (least === null) return limit;
    const [a, b] = [remainingOf(least), remainingOf(limit)];
    return b !== null && (a === null || compare(b, a) < 0) ? limit : least;
  }, null);
}
