import { describe, expect, test } from "bun:test";
import { type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { addMandate, at, paymentsOf, recordedEvents } from "../payments/fixtures.ts";

// A bank's results for debits of many runs: /emandate/collections/results finds them by their numbers.

const clock = new TestClock(at("2026-01-05"));

const service = useService({ clock });

const PATH = "/emandate/collections/results";
const CSV = { "content-type": "text/csv" };
const HEADER = "order_no,amount,response_code,charged_back";
const send = ({ api }: Tenant, lines: string[]) => api("POST", PATH, [HEADER, ...lines].join("\r\n"), CSV);
const run = async ({ api }: Tenant): Promise<Json> =>
  (await api("POST", "/emandate/collections/run", {})).body.data;

async function moveTo(tenant: Tenant, on: string): Promise<void> {
  clock.set(at(on));
  tenant.api = await service.signIn(tenant.admin_email);
}

/** A company with debits of two runs and one by hand, under way. */
async function openDebits() {
  clock.set(at("2026-01-05"));
  const tenant = await service.addTenant();
  await tenant.api("PUT", "/emandate/config", { suspend_after_failures: 10 });
  const mandate = await addMandate(service.deps, tenant, "2026-01-05", { max_no_debit: "2" });
  const first = await run(tenant);
  await moveTo(tenant, "2026-02-05");
  await run(tenant);
  const path = `/emandate/mandates/${mandate}/payments`;
  expect((await tenant.api("POST", path, { amount: "20" })).status).toBe(201);
  const payments = await paymentsOf(tenant.api, mandate);
  expect(payments).toHaveLength(3);
  const statuses = async () => (await paymentsOf(tenant.api, mandate)).map(({ status }) => status);
  return { tenant, first, statuses, numbers: payments.map(({ order_no }) => order_no as string) };
}

describe("results of many runs", () => {
  test("find each debit by its number, charge-backs months later, and change nothing when they come again", async () => {
    const { tenant, first, statuses, numbers } = await openDebits();
    const [january, february, by_hand] = numbers;
    const paid = [`${january},50.00,00,`, `${february},50.00,00,`, `${by_hand},20.00,00,`];
    expect((await send(tenant, paid)).body.data).toMatchObject({ applied: 3, unchanged: 0, rejected: 0 });
    await moveTo(tenant, "2026-06-20");
    const back = [`${by_hand},20.00,00,yes`, `${january},50.00,00,yes`];
    const both = await Promise.all([send(tenant, back), send(tenant, back)]);
    const applied = both.map(({ status, body }) => [status, body.data.applied + body.data.unchanged]);
    expect(applied).toEqual([
      [200, 2],
      [200, 2],
    ]);
    expect(both.reduce((sum, { body }) => sum + body.data.applied, 0)).toBe(2);
    expect(await statuses()).toEqual(["charged_back", "paid", "charged_back"]);
    const told = await recordedEvents(tenant.api);
    expect((await send(tenant, [...paid.slice(1, 2), ...back])).body.data).toMatchObject({
      applied: 0,
      unchanged: 3,
    });
    expect(await recordedEvents(tenant.api)).toEqual(told);
    // What is sent for one run is still of that run alone.
    const path = `/emandate/collections/${first.id}/results`;
    const bound = await tenant.api("POST", path, [HEADER, ...back].join("\r\n"), CSV);
    expect(bound.body.data).toMatchObject({
      unchanged: 1,
      rejections: [{ line: 2, reason: "order_no is of no debit of this run" }],
    });
  });

  test("know no other company's debits, and none that are not debits", async () => {
    const { tenant, numbers } = await openDebits();
    const other = await openDebits();
    const made = await tenant.api("POST", "/emandate/mandates", {
      customer_name: "Waiting Wong",
      customer_email: "wong@example.com",
    });
    await tenant.api("POST", `/emandate/mandates/${made.body.data.id}/authorize`, {});
    const { order_no } = (await tenant.api("GET", `/emandate/mandates/${made.body.data.id}`)).body.data;
    const lines = [`${other.numbers[0]},50.00,00,`, `${order_no},1.00,00,`, `${numbers[0]},49.00,00,`];
    const { status, body } = await send(tenant, lines);
    expect([status, body.data]).toEqual([
      200,
      {
        applied: 0,
        flagged: 0,
        unchanged: 0,
        rejected: 3,
        rejections: [
          { line: 2, reason: "order_no is of no debit" },
          { line: 3, reason: "order_no is of no debit" },
          { line: 4, reason: "amount must be 50.00" },
        ],
      },
    ]);
    expect(await other.statuses()).toEqual(["submitted", "submitted", "submitted"]);
  });

  test.each([
    ["no CSV", 'a"b', "text/csv", 422],
    ["other columns", "order,amount\r\n1,2", "text/csv", 422],
    ["JSON", "{}", "application/json", 415],
    ["too much", "x".repeat(5 * 1024 * 1024 + 1), "text/csv", 413],
  ])("that are %s are refused whole", async (_, csv, type, status) => {
    const { tenant } = await openDebits();
    expect((await tenant.api("POST", PATH, csv, { "content-type": type })).status).toBe(status);
  });

  test("are nobody's without a token", async () => {
    expect((await service.anonymous("POST", PATH, HEADER, CSV)).status).toBe(401);
  });
});
