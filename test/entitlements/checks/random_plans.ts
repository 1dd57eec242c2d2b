import type { Json } from "../../support/harness.ts";
import { type Dice, pick } from "../../support/dice.ts";
import { type ModelLimit, type ModelMeter, plain, type Window } from "./check_model.ts";

/** What features of the same code count. */
export const METERS: Readonly<Record<string, ModelMeter>> = {
  all: { aggregation: "sum" },
  calls: { aggregation: "count", kind: "chat" },
  read: { aggregation: "sum", reads: "tokens" },
  least: { aggregation: "min" },
  most: { aggregation: "max", reads: "tokens" },
  users: { aggregation: "unique", reads: "user" },
  last: { aggregation: "latest" },
  level: { aggregation: "latest", carry_over: true },
  seats: { aggregation: "weighted_sum" },
};
export const CODES = Object.keys(METERS);
export const WINDOWS: readonly Window[] = ["hour", "day", "week", "month", "life"];

/** Millionths with at most two decimals. */
export const amount = (roll: Dice, n: number): bigint => BigInt(roll(n * 100)) * 10_000n;

/** One to three limits of a feature, of different windows or keys. */
export function someLimits(roll: Dice, feature: string): ModelLimit[] {
  const found = new Map<string, ModelLimit>();
  for (let i = roll(3); i >= 0; i--) {
    const window = pick(roll, feature === "seats" ? WINDOWS.slice(0, 4) : WINDOWS);
    const per = roll(3) === 0 ? "model" : null;
    const limit = roll(8) === 0 ? null : amount(roll, 60);
    found.set(`${window} ${per}`, { feature, enabled: true, limit, window, hard: roll(3) > 0, per });
  }
  return [...found.values()];
}

export const onWire = ({ limit, ...rest }: ModelLimit): Json => ({
  ...rest,
  limit: limit === null ? null : plain(limit),
});
