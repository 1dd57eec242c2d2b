import type { Json } from "../../support/harness.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PACKAGE, VOLUME } from "../fixtures.ts";

type Meters = Readonly<Record<(typeof METERS)[number]["code"], number>>;

const USER = { value: [{ key: "metadata:user" }] };
const LEVEL = { value: [{ key: "metadata:level" }] };
/** What counts usage; its group keys are in the metadata of events. */
const METERS = [
  { code: "usage", aggregation: "sum" },
  { code: "by_model", aggregation: "sum", group_keys: ["model"] },
  { code: "users", aggregation: "unique", ...USER },
  { code: "peak", aggregation: "max", ...LEVEL },
  { code: "last", aggregation: "latest", carry_over: true, ...LEVEL },
  { code: "seats", aggregation: "weighted_sum", ...LEVEL },
  { code: "calls", aggregation: "count", filters: [{ key: "model", op: "in", values: ["small"] }] },
] as const;

/** What companies of random histories sell, and how often each thing is done. */
export interface Assortment {
  /** As POST /billing-models takes them. */
  readonly models: (meters: Meters) => readonly Json[];
  /** The positions of the credit plans that may follow one another. */
  readonly credit_plans: readonly number[];
  /** As POST /add-ons takes their charges. */
  readonly addOns: (meters: Meters) => readonly Json[];
  readonly chances: Readonly<Record<string, number>>;
}

const credit = (monthly_credits: number, price: number, given: Json = {}): Json => ({
  ...CREDIT,
  price,
  credit_plan: { ...CREDIT.credit_plan, monthly_credits, ...given },
});

const CHANCES = {
  use: 8,
  change: 5,
  correct: 2,
  turn: 4,
  takeBack: 3,
  cancel: 2,
  zone: 2,
  run: 3,
  name: 2,
  recheck: 1,
  apply: 3,
};

const PER_UNIT = {
  billing_type_id: 2,
  price: 0.35,
  recurring_fee: "9.99",
  free_units: "20",
  minimum_charge: "15",
  maximum_charge: "80",
};

/** Each billing type, with fees in arrears. */
export const PLAIN: Assortment = {
  models: () => [
    FLAT,
    { ...FLAT, price: 62.5 },
    PER_UNIT,
    { ...GRADUATED, charge_flat_on_zero: true },
    { ...VOLUME, price: 3 },
    { ...PACKAGE, recurring_fee: "4", free_units: "7" },
    credit(100, 31),
    credit(333, 62, { overage_rate: "0.015" }),
    credit(1000, 124),
    credit(40, 20, { credit_consumption: "per_api_call", overage_rate: "0.5" }),
    credit(200, 50, { overage_rate: null }),
  ],
  credit_plans: [6, 7, 8, 10],
  addOns: () => [],
  chances: CHANCES,
};

const IN_ADVANCE = { fee_timing: "in_advance" };

// No commitment to a year: which of its months has the cap depends on what was known when. charge_histories.ts has these.

/** What begins and is billed ahead: setup fees, trials, fees in advance, add-ons, bills before a month ends. */
export const AHEAD: Assortment = {
  models: ({ usage: meter_id }) => [
    { ...FLAT, ...IN_ADVANCE, setup_fee: "12.34" },
    { ...FLAT, price: 365, ...IN_ADVANCE, fee_interval: "year" },
    { ...FLAT, price: 93.1, ...IN_ADVANCE, fee_interval: "quarter", setup_fee: "7", trial_days: 40 },
    { ...PER_UNIT, ...IN_ADVANCE, trial_days: 10 },
    { ...credit(100, 31), ...IN_ADVANCE },
    { ...credit(333, 300), ...IN_ADVANCE, fee_interval: "half_year", trial_days: 5 },
    credit(1000, 124),
    { ...GRADUATED, setup_fee: "5", trial_days: 20 },
    { ...VOLUME, price: 3, commitment: { minimum: "40", maximum: "150", interval: "month" } },
    {
      ...FLAT,
      price: 400,
      ...IN_ADVANCE,
      fee_interval: "year",
      commitment: { minimum: "20", maximum: "60", interval: "month" },
      charges: [
        { code: "units", name: "Units", type: "per_unit", meter_id, price: "0.2" },
        { code: "seats", name: "Seats", type: "fixed", price: "5", quantity: "3" },
      ],
    },
  ],
  credit_plans: [4, 5, 6],
  addOns: ({ usage: meter_id }) => [
    { type: "fixed", price: "12" },
    { type: "package", price: "3", package_size: "50", meter_id },
  ],
  chances: { ...CHANCES, book: 3, rebook: 2, interim: 2 },
};

const perUnit = (code: string, meter_id: number, price: string, more: Json = {}): Json => ({
  code,
  name: code,
  type: "per_unit",
  meter_id,
  price,
  ...more,
});

/** Charges by meters of which few add up, billed ahead and in between. */
export const METERED: Assortment = {
  models: (meters) => [
    {
      ...FLAT,
      ...IN_ADVANCE,
      setup_fee: "3",
      charges: [
        perUnit("model", meters.by_model, "0.1", {
          prices: [
            { match: { model: "large" }, price: "0.5" },
            { match: { model: "small" }, price: "0.02" },
          ],
          unmatched: "free",
        }),
        perUnit("users", meters.users, "2"),
      ],
      commitment: { minimum: "30", maximum: "120", interval: "month" },
    },
    {
      ...FLAT,
      price: 120,
      ...IN_ADVANCE,
      fee_interval: "quarter",
      trial_days: 25,
      charges: [perUnit("peak", meters.peak, "1.5"), perUnit("seats", meters.seats, "4")],
    },
    {
      ...GRADUATED,
      meter_id: meters.last,
      charges: [
        {
          code: "calls",
          name: "Calls",
          type: "package",
          price: "7",
          package_size: "3",
          meter_id: meters.calls,
          prices: [],
        },
        {
          code: "tiers",
          name: "Tiers",
          type: "volume",
          meter_id: meters.by_model,
          usage_tiers: [
            { up_to: "50", unit_price: "1", flat_fee: "2" },
            { up_to: null, unit_price: "0.4" },
          ],
          prices: [
            {
              match: { model: "large" },
              usage_tiers: [
                { up_to: "20", unit_price: "3" },
                { up_to: null, unit_price: "1", flat_fee: "9" },
              ],
            },
          ],
        },
      ],
    },
    { ...PER_UNIT, meter_id: meters.seats, trial_days: 12 },
    {
      ...CREDIT,
      price: 20,
      credit_plan: {
        monthly_credits: 50,
        credit_consumption: "per_unit",
        overage_rate: "0.1",
        rates: [
          { meter_id: meters.by_model, credits: "0.5" },
          { meter_id: meters.calls, credits: 3 },
        ],
      },
      charges: [perUnit("last", meters.last, "0.7")],
    },
    {
      ...CREDIT,
      price: 60,
      ...IN_ADVANCE,
      credit_plan: {
        monthly_credits: 200,
        credit_consumption: "per_unit",
        overage_rate: "0.05",
        rates: [{ meter_id: meters.by_model, credits: 1 }],
      },
    },
  ],
  credit_plans: [4, 5],
  addOns: (meters) => [
    { type: "per_unit", price: "2", meter_id: meters.seats },
    { type: "package", price: "3", package_size: "5", meter_id: meters.users },
    { type: "fixed", price: "12" },
    { type: "per_unit", price: "0.3", meter_id: meters.last },
  ],
  chances: { ...CHANCES, use: 12, book: 4, rebook: 2, interim: 3 },
};

/** Adds what is sold to a company; the ids in its order. */
export async function stock(
  company: Company,
  { models, addOns }: Assortment,
): Promise<{ models: number[]; add_ons: number[] }> {
  const create = async (path: string, body: Json): Promise<number> => {
    const { status, body: answer } = await company.api("POST", path, body);
    if (status !== 201) throw new Error(`POST ${path}: ${JSON.stringify(answer)}`);
    return answer.data.id;
  };
  const counted: [string, number][] = [];
  for (const meter of METERS)
    counted.push([meter.code, await create("/meters", { name: "Usage", ...meter })]);
  const meters = Object.fromEntries(counted) as Meters;
  const sold: { models: number[]; add_ons: number[] } = { models: [], add_ons: [] };
  for (const [i, model] of models(meters).entries())
    sold.models.push(await company.addModel({ name: `Plan ${i}`, ...model }));
  for (const [i, charge] of addOns(meters).entries())
    sold.add_ons.push(
      await create("/add-ons", { code: `add_on_${i}`, name: `Add-on ${i}`, currency: "EUR", charge }),
    );
  return sold;
}
