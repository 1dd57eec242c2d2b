import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mandatePaymentTable } from "../../src/emandate/payments/tables.ts";
import { FLAT, PER_UNIT, useBilling } from "../billing/fixtures.ts";
import { fillCompany, type FilledCompany, NOW } from "../mcp/fixtures.ts";
import { type Api, type Json, type Service, startService, TestClock } from "../support/harness.ts";

// The overview against what the lists answer, and against sums made by hand.

async function overview(api: Api): Promise<Json> {
  const { status, body } = await api("GET", "/overview");
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data;
}

describe("GET /overview", () => {
  const fixture = useBilling();

  test("sums today beside the same weekday, by the company's days", async () => {
    fixture.clock.set("2026-02-01T00:00:00Z");
    const company = await fixture.addCompany({ timezone: "America/New_York" });
    const id = await company.subscribe(PER_UNIT, { started_at: "2026-01-01" });
    // Clocks went forward on Sunday the 8th: the week between has an hour less.
    fixture.clock.set("2026-03-11T14:00:00Z");
    await company.use(
      id,
      ["2026-03-04T04:59:59.999Z", "1"], // the day before, a week ago
      ["2026-03-04T05:00:00Z", "2"],
      ["2026-03-04T14:59:59.999Z", "4"],
      ["2026-03-04T15:00:00Z", "8"], // later than 10 o'clock
      ["2026-03-05T05:00:00Z", "16"],
      ["2026-03-11T03:59:59.999Z", "32"], // yesterday
      ["2026-03-11T04:00:00Z", "64"],
      ["2026-03-11T14:00:00Z", "128"],
    );
    const { as_of, today } = await overview(company.api);
    expect(as_of).toBe("2026-03-11T14:00:00.000Z");
    expect(today).toEqual({
      so_far: { from: "2026-03-11T04:00:00.000Z", to: "2026-03-11T14:00:00.001Z", units: 192, events: 2 },
      same_weekday: { from: "2026-03-04T05:00:00.000Z", to: "2026-03-04T15:00:00.000Z", units: 6, events: 2 },
      same_weekday_whole: {
        from: "2026-03-04T05:00:00.000Z",
        to: "2026-03-05T05:00:00.000Z",
        units: 14,
        events: 3,
      },
    });
  });

  test("has what the reports of revenue and running bills answer, and the clients at the top by currency", async () => {
    fixture.clock.set("2026-01-01T00:00:00Z");
    const company = await fixture.addCompany();
    const amounts = [10, 70, 30, 60, 20, 50, 40];
    for (const [i, price] of amounts.entries()) {
      const client_id = await company.addClient();
      for (const currency of i < 2 ? ["EUR", "USD"] : ["EUR"])
        await company.subscribe({ ...FLAT, price, currency }, { client_id, started_at: "2026-01-01" });
    }
    fixture.clock.set("2026-03-05T00:00:00Z");
    await company.run();
    const { revenue, running_bills, top_clients } = await overview(company.api);
    expect(revenue).toEqual((await company.api("GET", "/revenue?group_by=product")).body.data);
    expect(running_bills).toEqual((await company.api("GET", "/running-bills?limit=5")).body.data);
    expect(top_clients.map(({ currency, amount }: Json) => [currency, amount])).toEqual([
      ...[140, 120, 100, 80, 60].map((amount) => ["EUR", `${amount}.00`]),
      ["USD", "140.00"],
      ["USD", "20.00"],
    ]);
    expect(top_clients[0].name).toBe("Another");
  });

  test("counts what comes in seven days, as a plain model counts it", async () => {
    fixture.clock.set("2026-01-20T00:00:00Z");
    const company = await fixture.addCompany();
    const anchors = [1, 2, 24, 25, 26, 27, 28, 31];
    const ids: number[] = [];
    for (const billing_anchor_day of anchors)
      ids.push(await company.subscribe(FLAT, { billing_anchor_day, started_at: "2026-01-02" }));
    await company.subscribe(FLAT, { started_at: "2026-06-01" });
    const model = await company.addModel({ ...FLAT, price: 5 });
    const change = (id: number | undefined, effective_at: string) =>
      company.api("POST", `/subscriptions/${id}/billing-model-changes`, {
        new_billing_model_id: model,
        effective_at,
      });
    expect((await change(ids[0], "2026-02-22")).body.data.status).toBe("scheduled");
    expect((await change(ids[1], "2026-03-22")).body.data.status).toBe("scheduled");
    expect((await company.api("POST", `/subscriptions/${ids[3]}/cancel`, { at: "period_end" })).status).toBe(
      200,
    );
    fixture.clock.set("2026-02-19T12:00:00Z");
    // Until noon of the 26th: periods that end at midnight of the 24th, 25th and 26th. The one cancelled has ended.
    expect((await overview(company.api)).coming).toEqual({
      until: "2026-02-26T12:00:00.000Z",
      periods_closing: 2,
      subscriptions_ending: 0,
      plan_changes: 1,
      collections: { count: 0, amount: "0.00" },
    });
    fixture.clock.set("2026-02-22T12:00:00Z");
    // The last day of February stands for the 31st.
    expect((await overview(company.api)).coming).toMatchObject({ periods_closing: 6, plan_changes: 0 });
  });

  test("of nothing is nothing", async () => {
    fixture.clock.set("2026-02-19T12:00:00Z");
    const { api } = await fixture.service.addTenant();
    const { today, top_clients, debits, coming } = await overview(api);
    expect([today.so_far.units, top_clients, debits.paid]).toEqual([0, [], { count: 0, amount: "0.00" }]);
    expect(coming.periods_closing).toBe(0);
  });
});

describe("debits of the overview", () => {
  const clock = new TestClock(NOW);
  let service: Service;
  let filled: FilledCompany;
  beforeAll(async () => {
    service = await startService({ clock });
    filled = await fillCompany(service, clock);
  });
  afterAll(() => service.stop());

  test("are those paid and failed this month; what one may not read is null", async () => {
    const debit = (status: string, at: string, forgiven_at: string | null = null) => ({
      company_id: service.company_id,
      mandate_id: filled.mandate,
      due_date: "2026-03-09",
      debit_date: "2026-03-09",
      frequency: "Monthly",
      amount: "10.05",
      status,
      attempt_count: 1,
      paid_at: status === "paid" ? at : null,
      forgiven_at,
      created_at: at,
      updated_at: at,
    });
    const [march, february] = ["2026-03-01T00:00:00.000Z", "2026-02-28T23:59:59.999Z"];
    const rows = [
      debit("paid", march),
      debit("paid", february),
      debit("failed", march),
      debit("charged_back", march),
      debit("failed", february),
      debit("failed", march, march),
    ];
    await service.deps.store.tx((q) => q.insert(q.use(mandatePaymentTable)).values(rows as never));
    expect((await overview(service.api)).debits).toEqual({
      from: "2026-03-01T00:00:00.000Z",
      to: "2026-04-01T00:00:00.000Z",
      paid: { count: 2, amount: "30.05" },
      failed: { count: 2, amount: "20.10" },
    });
    const officer = await service.addUser(service, "loan_officer");
    const { as_of: _, ...parts } = await overview(officer);
    expect(Object.values(parts)).toEqual([null, null, null, null, null, null]);
    const client_user = await service.addUser(service, "client", filled.client);
    expect((await client_user("GET", "/overview")).status).toBe(403);
  });
});
