import { describe, expect, test } from "bun:test";
import { PASSWORD } from "../../support/harness.ts";
import { grantAccess } from "../../support/mcp_clients.ts";
import { type Company, FLAT, GRADUATED, useBilling } from "../fixtures.ts";
import { adjustment, APRIL, type Example, month, type Step, workOut } from "./worked_examples.ts";

// What a plan is billed for that owns no day, and the credits that go with a fee.

const companies = new Map<string, Company>();

const billing = useBilling();

const MARCH = "2024-03-01T00:00:00Z";
const BILL_MARCH = { at: APRIL, bill: ["2024-03"] } as const;

function plan(price: number, monthly_credits: number, overage_rate = "0.02") {
  const credit_plan = { monthly_credits, credit_consumption: "per_unit", overage_rate };
  return { billing_type_id: 6, price, credit_plan };
}

/** A change at an instant of March, made at that instant. */
const change = (to: number, effective_at: string): Step => ({ at: effective_at, change: to, effective_at });
const use = (at: string, units: number): Step => ({ at: APRIL, use: [[at, units]] });

const TIERED = { ...GRADUATED, charge_flat_on_zero: true };
const MINIMUM = {
  billing_type_id: 2,
  price: 1,
  recurring_fee: "31",
  free_units: "5",
  minimum_charge: "31",
  maximum_charge: "40",
};

const corrected: Example[] = [
  {
    name: "a wrong plan for five minutes, taken back: as if it had never been",
    models: [TIERED, { ...TIERED, price: 62 }],
    started_at: MARCH,
    steps: [
      change(1, "2024-03-15T10:00:00Z"),
      change(0, "2024-03-15T10:05:00Z"),
      use("2024-03-10T00:00:00Z", 7),
      use("2024-03-20T00:00:00Z", 8),
      BILL_MARCH,
    ],
    // 10 × 10 + 2, then 5 × 5 + 3: 130 in all.
    bills: [
      month("2024-03", "130.00", "A usage 72.00 (7 in 1)", "B usage 0.00 (0 in 0)", "A usage 58.00 (8 in 1)"),
    ],
  },
  {
    name: "a wrong plan for five minutes: one fee, one minimum, one maximum and the free units once",
    models: [MINIMUM, { ...MINIMUM, recurring_fee: "62" }],
    started_at: MARCH,
    steps: [
      change(1, "2024-03-15T10:00:00Z"),
      change(0, "2024-03-15T10:05:00Z"),
      use("2024-03-10T00:00:00Z", 25),
      use("2024-03-20T00:00:00Z", 30),
      BILL_MARCH,
    ],
    bills: [
      month(
        "2024-03",
        "71.00",
        "A usage 20.00 (25 in 1)",
        "A fee 31.00 31/31",
        "A maximum_cap -10.00",
        "B usage 0.00 (0 in 0)",
        "A usage 30.00 (30 in 1)",
      ),
    ],
  },
  {
    name: "what is used under a plan without a day is charged, its flat fees are not",
    models: [FLAT, TIERED, { ...FLAT, price: 62 }],
    started_at: MARCH,
    steps: [
      change(1, "2024-03-15T10:00:00Z"),
      change(2, "2024-03-15T18:00:00Z"),
      use("2024-03-15T12:00:00Z", 12),
      BILL_MARCH,
    ],
    bills: [month("2024-03", "158.00", "A fee 14.00 14/31", "B usage 110.00 (12 in 1)", "C fee 34.00 17/31")],
  },
];

const verified: Example[] = [
  {
    name: "a minimum without usage whose stretch a later change makes shorter",
    models: [MINIMUM, FLAT],
    started_at: MARCH,
    steps: [BILL_MARCH, { at: APRIL, change: 1, effective_at: "2024-03-15T10:00:00Z" }],
    bills: [
      month(
        "2024-03",
        "62.00",
        "A fee 31.00 31/31",
        "A usage 0.00 (0 in 0)",
        "A minimum_true_up 31.00 31/31",
      ),
      adjustment(
        "2024-03",
        "-17.00",
        "A fee 14.00 14/31",
        "A minimum_true_up 14.00 14/31",
        "A fee -31.00 31/31",
        "A minimum_true_up -31.00 31/31",
        "B fee 17.00 17/31",
      ),
    ],
  },
];

const credits: Example[] = [
  {
    name: "a large plan for five minutes gives no credits",
    models: [plan(31, 1000), plan(310, 100_000)],
    started_at: MARCH,
    steps: [
      change(1, "2024-03-15T10:00:00Z"),
      change(0, "2024-03-15T10:05:00Z"),
      use("2024-03-20T00:00:00Z", 1100),
      BILL_MARCH,
    ],
    bills: [
      month("2024-03", "33.00", "A fee 31.00 31/31", "A overage 2.00 (100)", "A usage 0.00 (1100 in 1)"),
    ],
  },
  {
    name: "left for a plan without credits on 15 March: 452 of 1000 credits with 14 days of its fee",
    models: [plan(31, 1000), FLAT],
    started_at: MARCH,
    steps: [change(1, "2024-03-15T10:00:00Z"), use("2024-03-10T00:00:00Z", 500), BILL_MARCH],
    bills: [
      month(
        "2024-03",
        "31.96",
        "A fee 14.00 14/31",
        "A usage 0.00 (500 in 1)",
        "A overage 0.96 (48)",
        "B fee 17.00 17/31",
      ),
    ],
  },
  {
    name: "an upgrade on the last evening wipes out nothing: overage at the rate under which it arose",
    models: [plan(31, 1000, "0.10"), plan(310, 100_000, "0.02")],
    started_at: MARCH,
    steps: [
      { at: "2024-03-31T20:00:00Z", use: [["2024-03-20T00:00:00Z", 5000]] },
      { at: "2024-03-31T20:00:00Z", upgrade: 1 },
      use("2024-03-31T22:00:00Z", 4000),
      BILL_MARCH,
    ],
    // (100000 − 1000) × 1 / 31 = 3193.5, so 3194 credits more: 806 are beyond.
    bills: [
      month(
        "2024-03",
        "456.12",
        "A fee 30.00 30/31",
        "A usage 0.00 (5000 in 1)",
        "A overage 400.00 (4000)",
        "B fee 10.00 1/31",
        "B usage 0.00 (4000 in 1)",
        "B overage 16.12 (806)",
      ),
    ],
  },
];

describe.each([
  ["corrected at once", corrected],
  ["verified by what is left", verified],
  ["credits with their fee", credits],
])("worked examples: %s", (_, examples) => {
  test.each(examples.map((example) => [example.name, example] as const))("%s", async (_name, example) => {
    await workOut(billing, companies, example);
  });
});

test("the balance tells an overage that arose before an upgrade, and what is left of the upgrade", async () => {
  const company = companies.get("UTC") ?? (await billing.addCompany());
  billing.clock.set("2024-03-31T20:00:00Z");
  const large = await company.addModel(plan(310, 100_000));
  const id = await company.subscribe(plan(31, 1000), { started_at: MARCH });
  await company.use(id, ["2024-03-20T00:00:00Z", "5000"]);
  await company.api("POST", `/subscriptions/${id}/upgrade`, { new_billing_model_id: large });
  const { body } = await company.api("GET", `/subscriptions/${id}/credits`);
  expect(body.data).toMatchObject({ allocated: 4194, used: 1000, remaining: 3194, overageUsed: 4000 });
});

test("credits above 2^53 are reported and billed to the last digit", async () => {
  const company = companies.get("UTC") ?? (await billing.addCompany());
  billing.clock.set("2024-03-20T00:00:00Z");
  const id = await company.subscribe(plan(31, 1000, "1"), { started_at: MARCH });
  const most = "999999999999";
  const events = Array.from({ length: 9_100 }, () => ["2024-03-10T00:00:00Z", most] as [string, string]);
  await company.use(id, ...events, ["2024-03-10T00:00:00Z", "2.5"]);
  // 9100 × 999999999999 + 3 credits.
  const over = 9_100n * 999_999_999_999n + 3n - 1000n;
  const { api, admin_email } = company;
  expect(BigInt(Number(over))).not.toBe(over);
  const login = await billing.service.anonymous("POST", "/login", { email: admin_email, password: PASSWORD });
  const answer = await fetch(`${billing.service.url}/api/v1/subscriptions/${id}/credits`, {
    headers: { authorization: `Bearer ${login.body.token}` },
  });
  const digits = `"used":1000,"remaining":0,"overageUsed":${over},`;
  expect(await answer.text()).toContain(digits);
  const params = { name: "billing_get_subscription_overview", arguments: { subscription_id: id } };
  const told = await fetch(`${billing.service.url}/api/v1/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${await grantAccess(billing.service, admin_email)}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const [, structured] = (await told.text()).split('"structuredContent"');
  expect(structured).toContain(digits);
  billing.clock.set(APRIL);
  const { records } = await company.run({ period: "2024-03", subscription_ids: [id] });
  expect(records[0].lines.at(-1)).toMatchObject({
    kind: "overage",
    quantity: `${over}`,
    amount: `${over}.00`,
  });
  expect((await api("GET", `/billing-records/${records[0].id}/verify`)).body.data.matches).toBeTrue();
});
