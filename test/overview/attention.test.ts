import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { billingModelChangeTable } from "../../src/billing/billing_model_changes/tables.ts";
import { creditThresholdTable } from "../../src/billing/credits/tables.ts";
import { billingRunTable, unbilledUsageTable } from "../../src/billing/runs/tables.ts";
import { mandateFlagTable } from "../../src/emandate/flags/tables.ts";
import { mandatePaymentTable } from "../../src/emandate/payments/tables.ts";
import { alertFiringTable } from "../../src/entitlements/alerts/tables.ts";
import { loanApplicationTable } from "../../src/loans/applications/tables.ts";
import { webhookLogTable } from "../../src/webhooks/deliveries/tables.ts";
import { webhookTable } from "../../src/webhooks/endpoints/tables.ts";
import type { Queries } from "../../src/store/store.ts";
import {
  type Api,
  type Json,
  type Service,
  startService,
  type Tenant,
  TestClock,
} from "../support/harness.ts";
import { fillCompany, type FilledCompany, NOW } from "../mcp/fixtures.ts";

// A company where everything has gone wrong that may, beside one where nothing has.

const clock = new TestClock(NOW);
let service: Service;
let other: Tenant;
let filled: FilledCompany;

const AT = "2026-03-09T00:00:00.000Z";
const OLD = "2026-01-01T00:00:00.000Z";
const stamps = (at = AT) => ({ created_at: at, updated_at: at });

beforeAll(async () => {
  service = await startService({ clock });
  filled = await fillCompany(service, clock);
  other = await service.addTenant();
  await fillCompany(service, clock, other);
});
afterAll(() => service.stop());

async function attention(api: Api): Promise<Map<string, Json>> {
  const { status, body } = await api("GET", "/attention");
  expect(status).toBe(200);
  expect(body.data.as_of).toBe("2026-03-10T12:00:00.000Z");
  return new Map(body.data.items.map((item: Json) => [item.kind, item]));
}

/** Makes everything go wrong, seven times each, and what must not count beside it. */
async function goWrong(q: Queries): Promise<void> {
  const { company_id } = service;
  const { subscription, credit_subscription, metered, dearer, mandate } = filled;
  const seven = Array.from({ length: 7 }, (_, i) => i);
  const endpoint = { company_id, event_types: ["*"], description: null, secrets: [] };
  const [hook] = await q
    .insert(q.use(webhookTable))
    .values([
      {
        ...endpoint,
        url: "https://a.example",
        status: "disabled",
        disabled_reason: "it failed for days",
        ...stamps(),
      },
      { ...endpoint, url: "https://b.example", status: "disabled", disabled_reason: null, ...stamps() },
    ])
    .returning();
  const delivery = {
    company_id,
    endpoint_id: hook?.id ?? 0,
    event_type: "client.created",
    url: "https://a.example",
    payload: { type: "client.created", timestamp: AT, data: {} },
    step: 9,
    attempts: [],
  };
  const log = (i: number, status: "failed" | "succeeded", at = AT) => ({
    ...delivery,
    message_id: `${status} ${i} ${at}`,
    status,
    ...stamps(at),
  });
  await q
    .insert(q.use(webhookLogTable))
    .values([...seven.map((i) => log(i, "failed")), log(0, "succeeded"), log(0, "failed", OLD)]);
  const firing = (i: number, window_end: string | null) => ({
    company_id,
    digest: `${i} ${window_end}`,
    subscription_id: subscription,
    threshold: "100",
    limit: "90",
    value: `10${i}`,
    window: "month" as const,
    window_start: "2026-03-01T00:00:00.000Z",
    window_end,
    at: AT,
  });
  await q
    .insert(q.use(alertFiringTable))
    .values([...seven.map((i) => firing(i, "2026-04-01T00:00:00.000Z")), firing(8, null), firing(9, AT)]);
  const threshold = { company_id, subscription_id: credit_subscription, created_at: AT };
  await q.insert(q.use(creditThresholdTable)).values([
    { ...threshold, month_start: "2026-02-01T00:00:00.000Z", threshold: 100 },
    { ...threshold, month_start: "2026-03-01T00:00:00.000Z", threshold: 80 },
  ]);
  await q.insert(q.use(unbilledUsageTable)).values(
    seven.map((i) => ({
      company_id,
      subscription_id: subscription,
      reason: "late" as const,
      from: `2026-02-0${i + 1}T00:00:00.000Z`,
      to: null,
      units: "5",
      event_count: 1,
      ...stamps(),
    })),
  );
  const change = (i: number, attempts: number, status: "scheduled" | "applied" = "scheduled") => ({
    company_id,
    subscription_id: subscription,
    old_billing_model_id: metered,
    new_billing_model_id: dearer,
    kind: "change" as const,
    status,
    effective_at: `2026-03-10T0${i}:00:00.000Z`,
    adjustment_billing_record_ids: [],
    last_error: attempts === 0 ? null : "The usage store is busy",
    attempts,
    ...stamps(),
  });
  await q
    .insert(q.use(billingModelChangeTable))
    .values([change(1, 1), change(2, 2), change(3, 0), change(4, 1, "applied")]);
  const debit = (
    i: number,
    status: "failed" | "charged_back" | "paid",
    at = AT,
    forgiven_at: string | null = null,
  ) => ({
    company_id,
    mandate_id: mandate,
    due_date: "2026-03-09",
    debit_date: "2026-03-09",
    frequency: "Monthly" as const,
    amount: "10.00",
    status,
    attempt_count: 1,
    response_message: `Account closed ${i}`,
    forgiven_at,
    ...stamps(at),
  });
  const payments = await q
    .insert(q.use(mandatePaymentTable))
    .values([
      ...seven.map((i) => debit(i, "failed")),
      debit(7, "charged_back"),
      debit(8, "paid"),
      debit(9, "failed", OLD),
      debit(10, "failed", AT, AT),
    ] as never)
    .returning();
  const flag = {
    company_id,
    mandate_id: mandate,
    payment_id: payments[0]?.id ?? null,
    order_id: 1,
    reason: "paid_twice",
  };
  await q.insert(q.use(mandateFlagTable)).values([
    { ...flag, about: "a", ...stamps() },
    { ...flag, about: "b", message: "Twice", ...stamps() },
    { ...flag, about: "c", resolved_at: AT, ...stamps() },
  ] as never);
  await q
    .update(q.use(loanApplicationTable))
    .set({ environment: "production", status: "submitted", submitted_at: AT });
  const counts = {
    subscriptions: 9,
    periods: 0,
    adjustments: 0,
    unchanged: 0,
    not_due: 0,
    failed: 9,
    late_unbilled: 0,
  };
  const errors = seven.map(() => ({
    subscription_id: subscription,
    billingStartAt: null,
    message: "The usage store is busy",
  }));
  const run = { company_id, status: "finished" as const, period: null, requested_by: null, ...stamps() };
  await q.insert(q.use(billingRunTable)).values([
    { ...run, dry_run: false, counts, errors },
    { ...run, dry_run: true, counts: { ...counts, failed: 1 }, errors: [] },
  ]);
}

describe("GET /attention", () => {
  test("of a company where all is well is empty", async () => {
    expect([...(await attention(other.api)).keys()]).toEqual([]);
    expect([...(await attention(service.api)).keys()]).toEqual([]);
  });

  test("names each kind with its count and the newest five, the gravest first, and where to go", async () => {
    await service.deps.store.tx(goWrong);
    const items = await attention(service.api);
    expect([...items].map(([kind, { count, newest }]) => [kind, count, newest.length])).toEqual([
      ["billing_failed", 9, 5],
      ["usage_unbilled", 7, 5],
      ["change_failed", 2, 2],
      ["debit_flagged", 2, 2],
      ["debit_failed", 8, 5],
      ["webhook_disabled", 1, 1],
      ["webhook_failed", 7, 5],
      ["credits_low", 1, 1],
      ["limit_reached", 8, 5],
      // fillCompany makes an application in staging, which this test has moved, in both companies.
      ["application_waiting", 1, 1],
    ]);
    expect(items.get("webhook_disabled").newest[0].text).toBe("https://a.example: it failed for days");
    expect(items.get("change_failed").newest[0]).toMatchObject({ text: "The usage store is busy" });
    expect(items.get("debit_failed").newest[0].text).toBe("Account closed 7");
    expect(items.get("debit_flagged").newest[0].text).toBe("paid twice: Twice");
    expect(items.get("credits_low").newest[0]).toMatchObject({
      id: filled.credit_subscription,
      text: "Acme credits",
    });
    expect(items.get("limit_reached").newest.map(({ at }: Json) => at)).toEqual(Array(5).fill(AT));
    // Of the limit itself: the threshold of one that is used up is percents.
    expect(items.get("limit_reached").newest[0].text).toEndWith(": 108 of 90");
  });

  test("leads to records and lists that there are", async () => {
    for (const [kind, { path, newest }] of await attention(service.api))
      for (const to of [path, ...newest.map((one: Json) => one.path)])
        if (to !== null) expect([kind, to, (await service.api("GET", to)).status]).toEqual([kind, to, 200]);
  });

  test("counts credits once: used up, no longer low", async () => {
    await service.deps.store.tx((q) =>
      q.insert(q.use(creditThresholdTable)).values({
        company_id: service.company_id,
        subscription_id: filled.credit_subscription,
        month_start: "2026-03-01T00:00:00.000Z",
        threshold: 100,
        created_at: AT,
      }),
    );
    const items = await attention(service.api);
    expect([items.get("credits_used_up").count, items.get("credits_low")]).toEqual([1, undefined]);
  });

  test("shows only what one may read, and nothing of another company", async () => {
    const analyst = await service.addUser(service, "analyst");
    const seen = [...(await attention(analyst)).keys()];
    expect(seen).toContain("debit_failed");
    expect(seen).not.toContain("webhook_failed");
    expect([...(await attention(other.api)).keys()]).toEqual(["application_waiting"]);
    const client_user = await service.addUser(service, "client", filled.client);
    expect((await client_user("GET", "/attention")).status).toBe(403);
  });
});
