import { describe, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PACKAGE, PER_UNIT, useBilling, VOLUME } from "../fixtures.ts";
import { type Example, march, workOut } from "./worked_examples.ts";

// What a period costs, by each billing type.

const companies = new Map<string, Company>();

const billing = useBilling();

const FIFTH = "2024-03-05T00:00:00Z";
const FIFTEENTH = "2024-03-15T00:00:00Z";
const LIMITED = { billing_type_id: 2, price: 1, minimum_charge: "31", maximum_charge: "50" };
const FEE = "fee 31.00 31/31";

const flat: Example[] = [
  march("flat 31.00 from 15 March", FLAT, [], ["17.00", "fee 17.00 17/31"], FIFTEENTH),
  march("flat 1000 cents from 5 March", { ...FLAT, price: 10 }, [], ["8.71", "fee 8.71 27/31"], FIFTH),
  march("flat with usage, which is included", FLAT, [5], ["31.00", FEE, "usage 0.00 (5 in 1)"]),
  march("flat at no price", { ...FLAT, price: 0 }, [], ["0.00", "fee 0.00 31/31"]),
  march(
    "flat yen, without digits: 1000 × 27/31 = 870.97",
    { ...FLAT, price: 1000, currency: "JPY" },
    [],
    ["871", "fee 871 27/31"],
    FIFTH,
  ),
  march(
    "flat dinars, with three digits: 100 × 17/31 = 54.83871",
    { ...FLAT, price: 100, currency: "BHD" },
    [],
    ["54.839", "fee 54.839 17/31"],
    FIFTEENTH,
  ),
];

const perUnit: Example[] = [
  march("per unit, without usage: a line that says none", PER_UNIT, [], ["0.00", "usage 0.00 (0 in 0)"]),
  march("per unit, parts of units", PER_UNIT, [2, 1.5], ["1.75", "usage 1.75 (3.5 in 2)"]),
  march(
    "a million units at a millionth",
    { ...PER_UNIT, price: 0.000001 },
    [1_000_000],
    ["1.00", "usage 1.00 (1000000 in 1)"],
  ),
  march(
    "a fee by days, free units whole",
    { ...PER_UNIT, recurring_fee: "3.1", free_units: "2" },
    [3],
    ["2.20", "fee 1.70 17/31", "usage 0.50 (3 in 1)"],
    FIFTEENTH,
  ),
  march(
    "exactly the free units",
    { ...PER_UNIT, free_units: "2" },
    [0.5, 1.5],
    ["0.00", "usage 0.00 (2 in 2)"],
  ),
  march(
    "a little above the free units",
    { ...PER_UNIT, free_units: "2" },
    [2.02],
    ["0.01", "usage 0.01 (2.02 in 1)"],
  ),
  march(
    "half a cent is rounded away from zero",
    { ...PER_UNIT, price: 0.005 },
    [1],
    ["0.01", "usage 0.01 (1 in 1)"],
  ),
  march("less than half a cent is not", { ...PER_UNIT, price: 0.0049 }, [1], ["0.00", "usage 0.00 (1 in 1)"]),
  march("2.5 yen are 3", { ...PER_UNIT, currency: "JPY" }, [5], ["3", "usage 3 (5 in 1)"]),
  march(
    "2.4999995 yen are 2",
    { ...PER_UNIT, currency: "JPY" },
    [4.999999],
    ["2", "usage 2 (4.999999 in 1)"],
  ),
  march(
    "half a fils is one",
    { ...PER_UNIT, price: 0.0005, currency: "BHD" },
    [1],
    ["0.001", "usage 0.001 (1 in 1)"],
  ),
  march("a correction", PER_UNIT, [5, -3], ["1.00", "usage 1.00 (2 in 2)"]),
  march("a correction beyond what it corrects", PER_UNIT, [5, -7], ["0.00", "usage 0.00 (0 in 2)"]),
];

/** What `units` in one event cost, on a usage line alone. */
function priced(name: string, model: Json, prices: [units: number, amount: string][]): Example[] {
  return prices.map(([units, amount]) =>
    march(`${name}: ${units} units`, model, [units], [amount, `usage ${amount} (${units} in 1)`]),
  );
}

const tiers: Example[] = [
  ...priced("graduated", GRADUATED, [
    [1, "12.00"],
    [10, "102.00"],
    [10.000001, "105.00"], // 102 + 0.000005 + the second tier's 3
    [10.5, "107.50"],
    [11, "110.00"],
    [12, "115.00"],
    [20, "155.00"],
    [21, "163.00"],
  ]),
  ...priced("volume", VOLUME, [
    [1, "12.00"],
    [100, "210.00"],
    [100.5, "100.50"],
    [101, "101.00"],
    [200, "200.00"],
    [200.000001, "150.00"], // 100.0000005 + 50
    [300, "200.00"],
  ]),
  march("graduated, nothing used", GRADUATED, [], ["0.00", "usage 0.00 (0 in 0)"]),
  march("volume, nothing used", VOLUME, [], ["0.00", "usage 0.00 (0 in 0)"]),
  march(
    "graduated, charge_flat_on_zero",
    { ...GRADUATED, charge_flat_on_zero: true },
    [],
    ["2.00", "usage 2.00 (0 in 0)"],
  ),
  march(
    "volume, charge_flat_on_zero, corrected below zero",
    { ...VOLUME, charge_flat_on_zero: true },
    [3, -4],
    ["10.00", "usage 10.00 (0 in 2)"],
  ),
  march(
    "graduated with a fee: price is the month's",
    { ...GRADUATED, price: 31 },
    [4, 7],
    ["127.00", "fee 17.00 17/31", "usage 110.00 (11 in 2)"],
    FIFTEENTH,
  ),
  march(
    "volume with a fee: price is the month's",
    { ...VOLUME, price: 31 },
    [101],
    ["132.00", FEE, "usage 101.00 (101 in 1)"],
  ),
];

const packages: Example[] = [
  ...priced("packages of 10 for 100", PACKAGE, [
    [0.1, "100.00"],
    [120, "1200.00"],
    [120.000001, "1300.00"],
    [121, "1300.00"],
  ]),
  ...priced("packages, 10 units free", { ...PACKAGE, free_units: "10" }, [
    [10, "0.00"],
    [121, "1200.00"],
  ]),
  ...priced("packages, 200 units free", { ...PACKAGE, free_units: "200" }, [[121, "0.00"]]),
  ...priced("packages of 2.5", { ...PACKAGE, package_size: "2.5" }, [
    [5, "200.00"],
    [5.1, "300.00"],
  ]),
  march(
    "packages with a fee",
    { ...PACKAGE, recurring_fee: "31" },
    [11],
    ["217.00", "fee 17.00 17/31", "usage 200.00 (11 in 1)"],
    FIFTEENTH,
  ),
];

const limits: Example[] = [
  march(
    "a minimum without usage",
    LIMITED,
    [],
    ["31.00", "usage 0.00 (0 in 0)", "minimum_true_up 31.00 31/31"],
  ),
  march(
    "just below the minimum",
    LIMITED,
    [30.99],
    ["31.00", "usage 30.99 (30.99 in 1)", "minimum_true_up 0.01 31/31"],
  ),
  march("exactly the minimum", LIMITED, [31], ["31.00", "usage 31.00 (31 in 1)"]),
  march("exactly the maximum", LIMITED, [50], ["50.00", "usage 50.00 (50 in 1)"]),
  march("above the maximum", LIMITED, [80.004], ["50.00", "usage 80.00 (80.004 in 1)", "maximum_cap -30.00"]),
  march(
    "the minimum goes by days",
    LIMITED,
    [2],
    ["17.00", "usage 2.00 (2 in 1)", "minimum_true_up 15.00 17/31"],
    FIFTEENTH,
  ),
  march(
    "the maximum does not",
    LIMITED,
    [80],
    ["50.00", "usage 80.00 (80 in 1)", "maximum_cap -30.00"],
    FIFTEENTH,
  ),
  march(
    "limits look at usage after free units, and not at the fee",
    { ...LIMITED, recurring_fee: "100", free_units: "10", minimum_charge: "5" },
    [12],
    ["105.00", "fee 100.00 31/31", "usage 2.00 (12 in 1)", "minimum_true_up 3.00 31/31"],
  ),
  march(
    "a maximum of half a cent more is rounded: 10.005 is 10.01",
    { ...LIMITED, minimum_charge: null, maximum_charge: "10.005" },
    [11],
    ["10.01", "usage 11.00 (11 in 1)", "maximum_cap -0.99"],
  ),
  march(
    "limits of tiers: the flat fee counts as usage",
    { ...GRADUATED, minimum_charge: "20", maximum_charge: "100" },
    [1],
    ["20.00", "usage 12.00 (1 in 1)", "minimum_true_up 8.00 31/31"],
  ),
  march(
    "limits of packages",
    { ...PACKAGE, maximum_charge: "150" },
    [11],
    ["150.00", "usage 200.00 (11 in 1)", "maximum_cap -50.00"],
  ),
];

const byCalls = { ...CREDIT.credit_plan, credit_consumption: "per_api_call", overage_rate: "0.5" };
const CREDIT_FEE = "fee 50.00 31/31";

const credits: Example[] = [
  march(
    "credits by units, rounded up once",
    CREDIT,
    [150.1, 0.1],
    [
      "51.02", // 151 credits, 51 over at 0.02
      CREDIT_FEE,
      "usage 0.00 (150.2 in 2)",
      "overage 1.02 (51)",
    ],
  ),
  march("credits by units, none over", CREDIT, [100], ["50.00", CREDIT_FEE, "usage 0.00 (100 in 1)"]),
  march(
    "credits by units, a thousandth over",
    CREDIT,
    [100.001],
    ["50.02", CREDIT_FEE, "usage 0.00 (100.001 in 1)", "overage 0.02 (1)"],
  ),
  march(
    "overage that is not billed",
    { ...CREDIT, credit_plan: { ...CREDIT.credit_plan, overage_rate: null } },
    [150.2],
    ["50.00", CREDIT_FEE, "usage 0.00 (150.2 in 1)"],
  ),
  march(
    "credits by calls from 15 March: 54.84 are 55, the 56th event is over",
    { ...CREDIT, credit_plan: byCalls },
    Array(56).fill(9),
    ["27.92", "fee 27.42 17/31", "usage 0.00 (504 in 56)", "overage 0.50 (1)"],
    FIFTEENTH,
  ),
  march(
    "every event is a call, those of zero too, and a correction takes one back",
    { ...CREDIT, credit_plan: { ...byCalls, monthly_credits: 2 } },
    [5, 0, 1, 2, -1],
    ["50.50", CREDIT_FEE, "usage 0.00 (7 in 5)", "overage 0.50 (1)"],
  ),
  march(
    "overage in yen: 25.5 are 26",
    { ...CREDIT, currency: "JPY", credit_plan: { ...CREDIT.credit_plan, overage_rate: "0.5" } },
    [151],
    ["76", "fee 50 31/31", "usage 0 (151 in 1)", "overage 26 (51)"],
  ),
];

describe.each([
  ["flat", flat],
  ["per_unit", perUnit],
  ["graduated and volume", tiers],
  ["package", packages],
  ["minimum and maximum", limits],
  ["credit", credits],
])("worked examples: %s", (_, examples) => {
  test.each(examples.map((example) => [example.name, example] as const))("%s", async (_name, example) => {
    await workOut(billing, companies, example);
  });
});
