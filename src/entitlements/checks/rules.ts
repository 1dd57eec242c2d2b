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
  if (limits.some(({ certain }) => !certain))
    return { allowed: if_uncertain === "allow", reason: null, shown, certain: false };
  if (over.length === 0) return { allowed: true, reason: null, shown, certain: true };
  return { allowed: over.every(({ hard }) => !hard), reason: "limit", shown, certain: true };
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
