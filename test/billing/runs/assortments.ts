import type { Json } from "../../support/harness.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PACKAGE, VOLUME } from "../fixtures.ts";

/** What companies of random histories sell, and how often each thing is done. */
export interface Assortment {
  /** As POST /billing-models takes them; `meter` stands for the id of the company's meter. */
  readonly models: (meter: number) => readonly Json[];
  /** The positions of the credit plans that may follow one another. */
  readonly credit_plans: readonly number[];
  /** As POST /add-ons takes their charges. */
  readonly addOns: (meter: number) => readonly Json[];
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
  models: (meter_id) => [
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
  addOns: (meter_id) => [
    { type: "fixed", price: "12" },
    { type: "package", price: "3", package_size: "50", meter_id },
  ],
  chances: { ...CHANCES, book: 3, rebook: 2, interim: 2 },
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
  const meter = await create("/meters", { code: "usage", name: "Usage", aggregation: "sum" });
  const sold: { models: number[]; add_ons: number[] } = { models: [], add_ons: [] };
  for (const [i, model] of models(meter).entries())
    sold.models.push(await company.addModel({ name: `Plan ${i}`, ...model }));
  for (const [i, charge] of addOns(meter).entries())
    sold.add_ons.push(
      await create("/add-ons", { code: `add_on_${i}`, name: `Add-on ${i}`, currency: "EUR", charge }),
    );
  return sold;
}
