import type { Aggregation, MeterFilter, MeterTerm } from "../../../src/usage_store/meter.ts";
import { type Dice, pick } from "../../support/dice.ts";
import type { ModelEvent } from "../../usage_store/reference_model.ts";
import {
  NO_TERMS,
  type SoldCharge,
  type SoldMeter,
  type SoldPlan,
  type UnitTerms,
  type UnitType,
} from "./sold_plans.ts";

// Random meters, plans and metadata of events that these read, or can't.

const AGGREGATIONS: readonly Aggregation[] = [
  "sum",
  "sum",
  "count",
  "min",
  "max",
  "average",
  "percentile",
  "latest",
  "unique",
  "weighted_sum",
];
const UNIT_TYPES: readonly UnitType[] = ["per_unit", "graduated", "volume", "package"];
const GROUP_KEYS = ["model", "region", "a.b"];
/** What events have at group keys, and a text that none has. */
const GROUP_VALUES: Readonly<Record<string, readonly string[]>> = {
  model: ["small", "large", "5", "true", "none"],
  region: ["eu", "us", "null", "0.5"],
  "a.b": ["x", "y", "1"],
};
const FILTERS: readonly MeterFilter[] = [
  { key: "kind", op: "in", values: ["chat", "image"] },
  { key: "kind", op: "not_in", values: ["chat"] },
  { key: "in", op: "exists", values: [] },
  { key: "user", op: "missing", values: [] },
];

/** A decimal from 0 on with at most so many digits before and after the point. */
function decimal(roll: Dice, whole: number, decimals: number): string {
  const places = roll(decimals + 1);
  const text = `${roll(10 ** roll(whole + 1))}${places === 0 ? "" : `.${digits(roll, places)}`}`;
  return plain(text);
}

const digits = (roll: Dice, n: number) => Array.from({ length: n }, () => roll(10)).join("");
const plain = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const aboveZero = (text: string) => (text === "0" ? "0.5" : text);

export function randomMeter(roll: Dice): Omit<SoldMeter, "id"> {
  const aggregation = pick(roll, AGGREGATIONS);
  return {
    aggregation,
    value: randomValue(roll, aggregation),
    filters: roll(3) === 0 ? [pick(roll, FILTERS)] : [],
    group_keys: GROUP_KEYS.filter(() => roll(2) === 0),
    percentile: aggregation === "percentile" ? pick(roll, ["50", "95", "99.9", "0.000001", "100"]) : null,
    carry_over: aggregation === "latest" && roll(2) === 0,
  };
}

function randomValue(roll: Dice, aggregation: Aggregation): MeterTerm[] {
  if (aggregation === "count") return [];
  if (aggregation === "unique") return [{ key: pick(roll, ["metadata:user", "metadata:model"]), times: "1" }];
  const own = { key: pick(roll, ["usage", "metadata:in", "metadata:out"]), times: "1" };
  if (roll(3) > 0) return [own];
  return [
    own,
    { key: pick(roll, ["metadata:in", "usage"]), times: pick(roll, ["-1", "0.5", "0.000001", "3"]) },
  ];
}

function randomMetadata(roll: Dice): Record<string, unknown> | null {
  if (roll(20) === 0) return null;
  const number = () =>
    pick(roll, [
      roll(5_000),
      roll(5_000),
      roll(100_000) / 1_000,
      String(roll(900)),
      `${roll(90)}.${digits(roll, 7)}`,
      -roll(50),
      pick<unknown>(roll, ["1e3", " 5", "", null, true, { n: 1 }, [3], "many"]),
    ]);
  const some: [string, unknown][] = [
    ["model", pick<unknown>(roll, ["small", "large", "large", 5, true, "5"])],
    ["region", pick<unknown>(roll, ["eu", "us", null, 0.5, { eu: 1 }])],
    ["a", { b: pick<unknown>(roll, ["x", "y", 1]) }],
    ["kind", pick(roll, ["chat", "image", "audio"])],
    ["in", number()],
    ["out", number()],
    ["user", pick<unknown>(roll, ["u1", "u2", "u3", 7, "7", "__proto__"])],
  ];
  return Object.fromEntries(some.filter(() => roll(6) > 0));
}

function randomTerms(roll: Dice, type: UnitType): UnitTerms {
  if (type === "per_unit" || type === "package")
    return {
      ...NO_TERMS,
      price: decimal(roll, 2, roll(4) === 0 ? 9 : 4),
      free_units: roll(2) === 0 ? "0" : decimal(roll, 3, 2),
      ...(type === "package" ? { package_size: aboveZero(decimal(roll, 3, 2)) } : {}),
    };
  const bounds = new Set(Array.from({ length: roll(4) }, () => aboveZero(decimal(roll, 4, 2))));
  const ascending = [...bounds].toSorted((a, b) => Number(a) - Number(b));
  const tiers = [...ascending, null].map((up_to) => ({
    up_to,
    unit_price: decimal(roll, 1, 5),
    flat_fee: roll(2) === 0 ? "0" : decimal(roll, 2, 3),
  }));
  return { ...NO_TERMS, tiers };
}

function randomCharge(roll: Dice, code: string, meters: readonly SoldMeter[]): SoldCharge {
  const none = { code, meter: null, per: "1", prices: [], unmatched_is_free: false, quantity: "1" };
  if (roll(8) === 0)
    return {
      ...NO_TERMS,
      ...none,
      type: "fixed",
      price: decimal(roll, 2, 3),
      quantity: pick(roll, ["1", "0", "2.5", "7"]),
    };
  const type = pick(roll, UNIT_TYPES);
  const meter = pick(roll, meters);
  const is_tiered = type === "graduated" || type === "volume";
  return {
    ...none,
    ...randomTerms(roll, type),
    type,
    meter,
    per: type === "package" ? "1" : pick(roll, ["1", "1", "1000", "7", "0.3", "1000000"]),
    flat_on_zero: is_tiered && roll(3) === 0,
    prices: randomMatches(roll, meter).map((match) => ({ match, ...randomTerms(roll, type) })),
    unmatched_is_free: roll(5) === 0,
  };
}

function randomMatches(roll: Dice, { group_keys }: SoldMeter): Record<string, string>[] {
  if (group_keys.length === 0) return [];
  const found = new Map<string, Record<string, string>>();
  for (let i = roll(5); i > 0; i--) {
    const keys = group_keys.filter(() => roll(2) === 0);
    const named = keys.length === 0 ? [pick(roll, group_keys)] : keys;
    const match = Object.fromEntries(named.map((key) => [key, pick(roll, GROUP_VALUES[key] ?? ["x"])]));
    found.set(JSON.stringify(match), match);
  }
  return [...found.values()];
}

/** Limits, the first at most the second; null for none. */
function randomLimits(roll: Dice): [string | null, string | null] {
  const [a, b] = [decimal(roll, 3, 3), decimal(roll, 3, 3)];
  const [low, high] = Number(a) <= Number(b) ? [a, b] : [b, a];
  return [roll(2) === 0 ? low : null, roll(2) === 0 ? high : null];
}

function randomRates(roll: Dice, meters: readonly SoldMeter[]): SoldPlan["rates"] {
  return meters
    .filter(({ aggregation }) => (aggregation === "sum" || aggregation === "count") && roll(3) > 0)
    .map((meter) => ({ meter, credits: pick(roll, ["0", "1", "3", "25"]) }));
}

/** `yearly`: its commitment is to a year, where it has one. */
export function randomPlan(roll: Dice, meters: readonly SoldMeter[], yearly = false): Omit<SoldPlan, "id"> {
  const type = pick(roll, [...UNIT_TYPES, "flat", "credit"] as const);
  const is_free = type === "flat" || type === "credit";
  const [minimum, maximum] = is_free || roll(3) > 0 ? [null, null] : randomLimits(roll);
  const [at_least, at_most] = randomLimits(roll);
  const by_call = type === "credit" && roll(2) === 0;
  const meter = type === "flat" || roll(2) === 0 ? null : pick(roll, meters);
  return {
    ...(is_free ? NO_TERMS : randomTerms(roll, type)),
    type,
    fee: roll(3) === 0 ? "0" : decimal(roll, 2, 3),
    flat_on_zero: (type === "graduated" || type === "volume") && roll(3) === 0,
    minimum,
    maximum,
    credits: pick(roll, [0, 10, 100, 333]),
    by_call,
    overage_rate: roll(3) === 0 ? null : decimal(roll, 1, 3),
    meter,
    rates: type === "credit" && !by_call && roll(2) === 0 ? randomRates(roll, meters) : [],
    charges: Array.from({ length: roll(4) }, (_, i) => randomCharge(roll, `charge_${i}`, meters)),
    commitment:
      roll(2) === 0 || (at_least ?? at_most) === null
        ? null
        : { minimum: at_least, maximum: at_most, interval: yearly ? "year" : pick(roll, ["month", "year"]) },
  };
}

/** An event of random usage, now and then a correction, with random metadata. */
export function randomEvent(roll: Dice, subscription_id: number, timestamp: number): ModelEvent {
  const millionths =
    BigInt(pick(roll, [1, 1, 10, 100])) * BigInt(roll(9_000_000) - (roll(4) === 0 ? 5_000_000 : 0));
  const size = String(millionths < 0n ? -millionths : millionths).padStart(7, "0");
  const usage = `${millionths < 0n ? "-" : ""}${size.slice(0, -6)}.${size.slice(-6)}`.replace(/\.?0+$/, "");
  const hex = Array.from({ length: 30 }, () => roll(16).toString(16)).join("");
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-8${hex.slice(15, 18)}-${hex.slice(18)}`;
  const object = randomMetadata(roll);
  return { id, subscription_id, timestamp, timestamp_given: true, usage, metadata: null, object, millionths };
}
