import { describe, test } from "bun:test";
import { type Company, CREDIT, PACKAGE, PER_UNIT, useBilling, VOLUME } from "../fixtures.ts";
import { adjustment, APRIL, type Bill, type Example, month, type Step, workOut } from "./worked_examples.ts";

// What is learned after a period was billed: late usage, and changes in the past. Model A is the first, B the next.

const companies = new Map<string, Company>();

const billing = useBilling();

const MARCH = "2024-03-01T00:00:00Z";
const METERED = { ...PER_UNIT, price: 1 };
const BILL_MARCH: Step = { at: APRIL, bill: ["2024-03"] };

const METER_A = { ...PER_UNIT, recurring_fee: "31" };
const METER_B = { ...PER_UNIT, price: 0.1, recurring_fee: "62" };

const closed: Example[] = [
  {
    name: "over two closed periods: lines that hold no more are taken back, new ones added",
    models: [METER_A, METER_B],
    started_at: "2024-02-01T00:00:00Z",
    steps: [
      {
        at: "2024-05-10T00:00:00Z",
        use: [
          ["2024-03-10T00:00:00Z", 10],
          ["2024-03-20T00:00:00Z", 20],
          ["2024-04-05T00:00:00Z", 30],
        ],
      },
      { at: "2024-05-10T00:00:00Z", bill: [] },
      { at: "2024-05-11T00:00:00Z", change: 1, effective_at: "2024-03-15T00:00:00Z" },
    ],
    bills: [
      month("2024-02", "31.00", "A fee 31.00 29/29", "A usage 0.00 (0 in 0)"),
      month("2024-03", "46.00", "A fee 31.00 31/31", "A usage 15.00 (30 in 2)"),
      month("2024-04", "46.00", "A fee 31.00 30/30", "A usage 15.00 (30 in 1)"),
      adjustment(
        "2024-03",
        "9.00",
        "A fee 14.00 14/31",
        "A usage 5.00 (10 in 1)",
        "A fee -31.00 31/31",
        "A usage -15.00 (-30 in -2)",
        "B fee 34.00 17/31",
        "B usage 2.00 (20 in 1)",
      ),
      adjustment(
        "2024-04",
        "19.00",
        "A fee -31.00 30/30",
        "B fee 62.00 30/30",
        "A usage -15.00 (-30 in -1)",
        "B usage 3.00 (30 in 1)",
      ),
    ],
  },
  {
    name: "after an adjustment: what all records said is taken back at once",
    models: [METERED, { ...METERED, price: 2 }],
    started_at: MARCH,
    steps: [
      { at: APRIL, use: [["2024-03-10T00:00:00Z", 10]] },
      BILL_MARCH,
      { at: "2024-04-02T00:00:00Z", use: [["2024-03-11T00:00:00Z", 5]] },
      { at: "2024-04-02T00:00:00Z", bill: ["2024-03"] },
      { at: "2024-04-03T00:00:00Z", change: 1, effective_at: MARCH },
    ],
    bills: [
      month("2024-03", "10.00", "A usage 10.00 (10 in 1)"),
      adjustment("2024-03", "5.00", "A usage 5.00 (5 in 1)"),
      adjustment("2024-03", "15.00", "A usage -15.00 (-15 in -2)", "B usage 30.00 (15 in 2)"),
    ],
  },
];

/** March is billed with the first usage; then each late event has an adjustment of its own. */
function late(
  name: string,
  model: object,
  first: readonly number[],
  then: readonly number[],
  bills: Bill[],
): Example {
  const used = (units: number): [string, number] => ["2024-03-20T00:00:00Z", units];
  const steps: Step[] = [
    { at: APRIL, use: first.map(used) },
    BILL_MARCH,
    ...then.flatMap((units, i): Step[] => {
      const at = `2024-04-0${i + 2}T00:00:00Z`;
      return [
        { at, use: [used(units)] },
        { at, bill: ["2024-03"] },
      ];
    }),
  ];
  return { name, models: [model], started_at: MARCH, steps, bills };
}

const learned: Example[] = [
  late(
    "two in a row: what the whole costs now, less what was billed",
    { ...PER_UNIT, price: 0.333 },
    [10],
    [5, -4],
    [
      month("2024-03", "3.33", "usage 3.33 (10 in 1)"),
      adjustment("2024-03", "1.67", "usage 1.67 (5 in 1)"), // 15 × 0.333 = 4.995, 5.00
      adjustment("2024-03", "-1.34", "usage -1.34 (-4 in 1)"), // 11 × 0.333 = 3.663, 3.66
    ],
  ),
  late(
    "a cheaper volume tier: one more unit costs less",
    VOLUME,
    [100],
    [1],
    [
      month("2024-03", "210.00", "usage 210.00 (100 in 1)"),
      adjustment("2024-03", "-109.00", "usage -109.00 (1 in 1)"),
    ],
  ),
  late(
    "a package that was started already, then a new one",
    PACKAGE,
    [119],
    [1, 0.5],
    [
      month("2024-03", "1200.00", "usage 1200.00 (119 in 1)"),
      adjustment("2024-03", "0.00", "usage 0.00 (1 in 1)"),
      adjustment("2024-03", "100.00", "usage 100.00 (0.5 in 1)"),
    ],
  ),
  late(
    "a minimum that is reached after all",
    { ...METERED, minimum_charge: "5" },
    [],
    [8],
    [
      month("2024-03", "5.00", "usage 0.00 (0 in 0)", "minimum_true_up 5.00 31/31"),
      adjustment("2024-03", "3.00", "usage 8.00 (8 in 1)", "minimum_true_up -5.00 31/31"),
    ],
  ),
  late(
    "a maximum that is passed, and then not",
    { ...METERED, maximum_charge: "50" },
    [40],
    [20, -15],
    [
      month("2024-03", "40.00", "usage 40.00 (40 in 1)"),
      adjustment("2024-03", "10.00", "usage 20.00 (20 in 1)", "maximum_cap -10.00"),
      adjustment("2024-03", "-5.00", "usage -15.00 (-15 in 1)", "maximum_cap 10.00"),
    ],
  ),
  late(
    "credits that are used up late",
    { ...CREDIT, price: 31 },
    [90],
    [30],
    [
      month("2024-03", "31.00", "fee 31.00 31/31", "usage 0.00 (90 in 1)"),
      adjustment("2024-03", "0.40", "usage 0.00 (30 in 1)", "overage 0.40 (20)"),
    ],
  ),
  late(
    "a correction below zero is rated as zero, and owed by what follows",
    PER_UNIT,
    [5],
    [-7, 1, 3],
    [
      month("2024-03", "2.50", "usage 2.50 (5 in 1)"),
      adjustment("2024-03", "-2.50", "usage -2.50 (-5 in 1)"),
      adjustment("2024-03", "0.00", "usage 0.00 (0 in 1)"),
      adjustment("2024-03", "1.00", "usage 1.00 (2 in 1)"),
    ],
  ),
  {
    name: "late usage belongs to the model that was in force at its time",
    models: [METERED, { ...METERED, price: 2 }],
    started_at: MARCH,
    steps: [
      { at: "2024-03-20T00:00:00Z", change: 1, effective_at: "2024-03-15T12:00:00Z" },
      BILL_MARCH,
      {
        at: "2024-04-02T00:00:00Z",
        use: [
          ["2024-03-15T11:59:59.999Z", 1],
          ["2024-03-15T12:00:00Z", 10],
          ["2024-03-31T23:59:59.999Z", 100],
        ],
      },
      { at: "2024-04-02T00:00:00Z", bill: ["2024-03"] },
    ],
    bills: [
      month("2024-03", "0.00", "A usage 0.00 (0 in 0)", "B usage 0.00 (0 in 0)"),
      adjustment("2024-03", "221.00", "A usage 1.00 (1 in 1)", "B usage 220.00 (110 in 2)"),
    ],
  },
];

describe.each([
  ["a change in a closed period", closed],
  ["late usage", learned],
])("worked examples: %s", (_, examples) => {
  test.each(examples.map((example) => [example.name, example] as const))("%s", async (_name, example) => {
    await workOut(billing, companies, example);
  });
});
