import { describe, test } from "bun:test";
import { type Company, FLAT, GRADUATED, PACKAGE, PER_UNIT, useBilling, VOLUME } from "../fixtures.ts";
import { APRIL, type Bill, type Example, month, type Step, workOut } from "./worked_examples.ts";

// What changes inside a period. Model A is the first, B the next.

const companies = new Map<string, Company>();

const billing = useBilling();

const MARCH = "2024-03-01T00:00:00Z";
const MIDDAY = "2024-03-15T12:00:00Z";
const METERED = { ...PER_UNIT, price: 1 };
const DOUBLE = { ...FLAT, price: 62 };
const BILL_MARCH: Step = { at: APRIL, bill: ["2024-03"] };

const plan = (price: number, monthly_credits: number, given: object = {}) => ({
  billing_type_id: 6,
  price,
  credit_plan: { monthly_credits, credit_consumption: "per_unit", overage_rate: "0.02", ...given },
});

/** Model A through March, then B from the instant of the change; usage is sent before the bill. */
function changed(
  name: string,
  [a, b]: readonly [object, object],
  effective_at: string,
  use: readonly (readonly [string, number])[],
  bill: Bill,
): Example {
  const steps: Step[] = [
    { at: "2024-03-25T00:00:00Z", use },
    { at: "2024-03-25T00:00:00Z", change: 1, effective_at },
    BILL_MARCH,
  ];
  return { name, models: [a, b], started_at: MARCH, steps, bills: [bill] };
}

const changes: Example[] = [
  changed(
    "10 to 20 a month on 15 March",
    [
      { ...FLAT, price: 10 },
      { ...FLAT, price: 20 },
    ],
    MIDDAY,
    [],
    month("2024-03", "15.49", "A fee 4.52 14/31", "B fee 10.97 17/31"),
  ),
  changed(
    "on the first day the new model has all days, the old one its usage",
    [METERED, FLAT],
    "2024-03-01T18:00:00Z",
    [
      ["2024-03-01T17:59:59.999Z", 3],
      ["2024-03-01T18:00:00Z", 5],
    ],
    month("2024-03", "34.00", "A usage 3.00 (3 in 1)", "B fee 31.00 31/31", "B usage 0.00 (5 in 1)"),
  ),
  changed(
    "whole free units on both sides",
    [
      { ...METERED, free_units: "10" },
      { ...METERED, price: 2, free_units: "10" },
    ],
    MIDDAY,
    [
      ["2024-03-10T00:00:00Z", 15],
      ["2024-03-20T00:00:00Z", 15],
    ],
    month("2024-03", "15.00", "A usage 5.00 (15 in 1)", "B usage 10.00 (15 in 1)"),
  ),
  changed(
    "whole tiers on both sides",
    [GRADUATED, VOLUME],
    MIDDAY,
    [
      ["2024-03-15T11:59:59.999Z", 11],
      ["2024-03-15T12:00:00Z", 101],
    ],
    month("2024-03", "211.00", "A usage 110.00 (11 in 1)", "B usage 101.00 (101 in 1)"),
  ),
  changed(
    "packages are started on both sides",
    [PACKAGE, { ...PACKAGE, price: 50 }],
    MIDDAY,
    [
      ["2024-03-10T00:00:00Z", 11],
      ["2024-03-20T00:00:00Z", 11],
    ],
    month("2024-03", "300.00", "A usage 200.00 (11 in 1)", "B usage 100.00 (11 in 1)"),
  ),
  changed(
    "a correction dated after the change corrects nothing before it",
    [METERED, { ...METERED, price: 2 }],
    MIDDAY,
    [
      ["2024-03-10T00:00:00Z", 5],
      ["2024-03-20T00:00:00Z", -3],
    ],
    month("2024-03", "5.00", "A usage 5.00 (5 in 1)", "B usage 0.00 (0 in 1)"),
  ),
  changed(
    "each minimum by its own days",
    [
      { ...METERED, minimum_charge: "31" },
      { ...METERED, minimum_charge: "62" },
    ],
    MIDDAY,
    [["2024-03-10T00:00:00Z", 2]],
    month(
      "2024-03",
      "48.00",
      "A usage 2.00 (2 in 1)",
      "A minimum_true_up 12.00 14/31",
      "B usage 0.00 (0 in 0)",
      "B minimum_true_up 34.00 17/31",
    ),
  ),
  changed(
    "each maximum whole",
    [
      { ...METERED, maximum_charge: "50" },
      { ...METERED, price: 2, maximum_charge: "50" },
    ],
    MIDDAY,
    [
      ["2024-03-10T00:00:00Z", 60],
      ["2024-03-20T00:00:00Z", 60],
    ],
    month(
      "2024-03",
      "100.00",
      "A usage 60.00 (60 in 1)",
      "A maximum_cap -10.00",
      "B usage 120.00 (60 in 1)",
      "B maximum_cap -70.00",
    ),
  ),
  changed(
    "flat to credits: the plan's credits by its days, 31 × 17/31",
    [FLAT, plan(62, 31, { overage_rate: "0.5" })],
    MIDDAY,
    [
      ["2024-03-10T00:00:00Z", 100],
      ["2024-03-20T00:00:00Z", 20],
    ],
    month(
      "2024-03",
      "49.50",
      "A fee 14.00 14/31",
      "A usage 0.00 (100 in 1)",
      "B fee 34.00 17/31",
      "B usage 0.00 (20 in 1)",
      "B overage 1.50 (3)",
    ),
  ),
  {
    name: "of two changes on a day the last one has the day",
    models: [FLAT, METERED, DOUBLE],
    started_at: MARCH,
    steps: [
      { at: "2024-03-20T00:00:00Z", use: [["2024-03-15T10:00:00Z", 3]] },
      { at: "2024-03-20T00:00:00Z", change: 1, effective_at: "2024-03-15T08:00:00Z" },
      { at: "2024-03-20T00:00:00Z", change: 2, effective_at: "2024-03-15T17:00:00Z" },
      BILL_MARCH,
    ],
    bills: [month("2024-03", "51.00", "A fee 14.00 14/31", "B usage 3.00 (3 in 1)", "C fee 34.00 17/31")],
  },
  {
    name: "the day of a change is the company's: 15 March 00:00 in Kathmandu",
    timezone: "Asia/Kathmandu",
    models: [FLAT, DOUBLE],
    started_at: "2024-01-01T00:00:00Z",
    steps: [
      { at: "2024-03-20T00:00:00Z", change: 1, effective_at: "2024-03-14T18:15:00Z" },
      { at: APRIL, bill: ["2024-03"] },
    ],
    bills: [["period 2024-02-29T18:15..2024-03-31T18:15 48.00", "A fee 14.00 14/31", "B fee 34.00 17/31"]],
  },
  {
    name: "changed and cancelled on one day: the new model has it",
    models: [FLAT, DOUBLE],
    started_at: MARCH,
    steps: [
      { at: MIDDAY, change: 1, effective_at: MIDDAY },
      { at: "2024-03-15T20:00:00Z", cancel: "now" },
      BILL_MARCH,
    ],
    bills: [month("2024-03", "16.00", "A fee 14.00 14/31", "B fee 2.00 1/31")],
  },
  {
    name: "scheduled for the 20th, applied then",
    models: [FLAT, DOUBLE],
    started_at: MARCH,
    steps: [
      { at: "2024-03-02T00:00:00Z", change: 1, effective_at: "2024-03-20T00:00:00Z" },
      { at: "2024-03-20T00:00:01Z", apply: true },
      BILL_MARCH,
    ],
    bills: [month("2024-03", "43.00", "A fee 19.00 19/31", "B fee 24.00 12/31")],
  },
  {
    name: "scheduled for the next period, applied late: from its very start",
    models: [FLAT, DOUBLE],
    started_at: MARCH,
    steps: [
      { at: "2024-03-02T00:00:00Z", change: 1, effective_at: "2024-04-01T00:00:00Z" },
      { at: "2024-04-20T00:00:00Z", apply: true },
      { at: "2024-05-01T01:00:00Z", bill: [] },
    ],
    bills: [month("2024-03", "31.00", "A fee 31.00 31/31"), month("2024-04", "62.00", "B fee 62.00 30/30")],
  },
  {
    name: "scheduled, and still waiting when its month is billed: applied first",
    models: [FLAT, DOUBLE],
    started_at: MARCH,
    steps: [
      { at: "2024-03-02T00:00:00Z", change: 1, effective_at: "2024-03-20T00:00:00Z" },
      BILL_MARCH,
      { at: "2024-04-02T00:00:00Z", apply: true },
    ],
    bills: [month("2024-03", "43.00", "A fee 19.00 19/31", "B fee 24.00 12/31")],
  },
];

const turns: Example[] = [
  {
    name: "upgrade on 15 March: 1000 + 549 credits, 1700 used, 151 over",
    models: [plan(31, 1000), plan(62, 2000)],
    started_at: MARCH,
    steps: [
      { at: "2024-03-15T10:00:00Z", use: [["2024-03-10T00:00:00Z", 900]] },
      { at: "2024-03-15T10:00:00Z", upgrade: 1 },
      { at: APRIL, use: [["2024-03-20T00:00:00Z", 800]] },
      BILL_MARCH,
    ],
    bills: [
      month(
        "2024-03",
        "51.02",
        "A fee 14.00 14/31",
        "A usage 0.00 (900 in 1)",
        "B fee 34.00 17/31",
        "B usage 0.00 (800 in 1)",
        "B overage 3.02 (151)",
      ),
    ],
  },
  {
    name: "downgrade: from the next month on",
    models: [plan(62, 2000), plan(31, 1000)],
    started_at: MARCH,
    steps: [
      { at: MIDDAY, downgrade: 1 },
      { at: "2024-04-01T00:00:01Z", apply: true },
      {
        at: "2024-05-01T01:00:00Z",
        use: [
          ["2024-03-31T23:59:59.999Z", 1500],
          ["2024-04-01T00:00:00Z", 1500],
        ],
      },
      { at: "2024-05-01T01:00:00Z", bill: [] },
    ],
    bills: [
      month("2024-03", "62.00", "A fee 62.00 31/31", "A usage 0.00 (1500 in 1)"),
      month("2024-04", "41.00", "B fee 31.00 30/30", "B usage 0.00 (1500 in 1)", "B overage 10.00 (500)"),
    ],
  },
  {
    name: "upgrade on 5 March, spend 1000 + 871 credits, downgrade: nothing over and nothing refunded",
    models: [plan(31, 1000), plan(62, 2000)],
    started_at: MARCH,
    steps: [
      { at: "2024-03-05T10:00:00Z", upgrade: 1 },
      { at: "2024-03-05T10:00:01Z", use: [["2024-03-05T10:00:00Z", 1871]] },
      { at: "2024-03-06T00:00:00Z", downgrade: 0 },
      { at: "2024-04-01T00:00:01Z", apply: true },
      { at: "2024-05-01T01:00:00Z", bill: [] },
    ],
    bills: [
      month("2024-03", "58.00", "A fee 4.00 4/31", "B fee 54.00 27/31", "B usage 0.00 (1871 in 1)"),
      month("2024-04", "31.00", "A fee 31.00 30/30"),
    ],
  },
  {
    name: "upgrade from calls to units: each part by its own plan, 2 + 101 credits of 31 + 17",
    models: [plan(31, 31, { credit_consumption: "per_api_call" }), plan(62, 62)],
    started_at: MARCH,
    steps: [
      {
        at: "2024-03-15T10:00:00Z",
        use: [
          ["2024-03-10T00:00:00Z", 900],
          ["2024-03-10T00:00:00Z", 0],
        ],
      },
      { at: "2024-03-15T10:00:00Z", upgrade: 1 },
      { at: APRIL, use: [["2024-03-20T00:00:00Z", 100.5]] },
      BILL_MARCH,
    ],
    bills: [
      month(
        "2024-03",
        "49.10",
        "A fee 14.00 14/31",
        "A usage 0.00 (900 in 2)",
        "B fee 34.00 17/31",
        "B usage 0.00 (100.5 in 1)",
        "B overage 1.10 (55)",
      ),
    ],
  },
];

describe.each([
  ["a change inside the period", changes],
  ["upgrades and downgrades", turns],
])("worked examples: %s", (_, examples) => {
  test.each(examples.map((example) => [example.name, example] as const))("%s", async (_name, example) => {
    await workOut(billing, companies, example);
  });
});
