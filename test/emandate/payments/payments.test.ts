import { describe, expect, test } from "bun:test";
import { mandateTable } from "../../../src/emandate/mandates/tables.ts";
import { type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import {
  addMandate,
  answer,
  at,
  CHARGED_BACK,
  CLOSED,
  getPayment,
  NO_FUNDS,
  PAID,
  paymentsOf,
  recordedEvents,
} from "./fixtures.ts";

const clock = new TestClock(at("2026-03-10"));

const service = useService({ clock });

const setConfig = async ({ api }: Tenant, change: object) => {
  const { status, body } = await api("PUT", "/emandate/config", change);
  expect([status, body]).toEqual([200, expect.anything()]);
};
const mandateStatus = async ({ api }: Tenant, id: number) => {
  const t = service.deps.store.read.use(mandateTable);
  const rows = await service.deps.store.read.select({ id: t.id, status: t.status }).from(t);
  expect((await api("GET", "/emandate/payments")).status).toBe(200);
  return rows.find((row) => row.id === id)?.status;
};
const debit = (tenant: Tenant, id: number, body: object = { amount: "20" }) =>
  tenant.api("POST", `/emandate/mandates/${id}/payments`, body);

/** Moves the clock, and signs the tenant in again: tokens end after a day. */
async function moveTo(tenant: Tenant, when: string): Promise<void> {
  clock.set(when);
  tenant.api = await service.signIn(tenant.admin_email);
}

async function freshTenant(on = "2026-03-10"): Promise<Tenant> {
  clock.set(at(on));
  return service.addTenant();
}

describe("debits by hand", () => {
  test("the audit entry names the payment, not its mandate", async () => {
    const tenant = await freshTenant();
    const mandates = [
      await addMandate(service.deps, tenant, null),
      await addMandate(service.deps, tenant, null),
    ];
    const ids: number[] = [];
    // The other way round, so that the numbers of payments and mandates cannot be the same.
    for (const mandate of mandates.toReversed()) ids.push((await debit(tenant, mandate)).body.data.id);
    const { body } = await tenant.api("GET", "/audit-log?operation=create_mandate_payment");
    expect(body.data.toReversed().map(({ target }: Json) => target)).toEqual(
      ids.map((id) => ({ type: "mandate_payment", id })),
    );
  });

  test("one that is due is submitted at once, with its order; paid, settled, and with its events", async () => {
    const tenant = await freshTenant();
    const mandate = await addMandate(service.deps, tenant, null);
    const { status, body } = await debit(tenant, mandate, { amount: "20", description: " Fee " });
    expect(status).toBe(201);
    const { id } = body.data;
    const order_no = `D${id}-1`;
    const common = { response_code: null, response_message: null };
    expect(body.data).toEqual({
      id,
      mandate_id: mandate,
      period_key: null,
      due_date: "2026-03-10",
      amount: "20.00",
      currency: "MYR",
      description: "Fee",
      status: "submitted",
      attempt_count: 1,
      next_attempt_at: null,
      order_no,
      scheme_txn_id: null,
      ...common,
      paid_at: null,
      created_at: at("2026-03-10"),
      updated_at: at("2026-03-10"),
      attempts: [
        {
          attempt_no: 1,
          order_no,
          submitted_at: at("2026-03-10"),
          ...common,
          completed_at: null,
          flagged_at: null,
        },
      ],
    });
    expect(await answer(service.deps, tenant, order_no, PAID)).toBe(true);
    expect(await answer(service.deps, tenant, order_no, { ...PAID, answers: "payment" })).toBe(false);
    expect(await getPayment(tenant.api, id)).toMatchObject({
      status: "paid",
      paid_at: at("2026-03-10"),
      scheme_txn_id: "TXN1",
      response_code: "00",
      attempts: [{ response_code: "00", completed_at: null }],
    });
    expect(await answer(service.deps, tenant, order_no, { ...PAID, answers: "settlement" })).toBe(true);
    expect((await getPayment(tenant.api, id)).attempts[0].completed_at).toBe(at("2026-03-10"));
    expect(await recordedEvents(tenant.api)).toEqual([`scheduled ${id}`, `submitted ${id}`, `paid ${id}`]);
  });

  test("a later one waits for its day, then goes with the run; it may be cancelled before", async () => {
    const tenant = await freshTenant();
    const mandate = await addMandate(service.deps, tenant, null, { max_no_debit: "3" });
    const later = (await debit(tenant, mandate, { amount: "10.5", due_date: "2026-03-12" })).body.data;
    const never = (await debit(tenant, mandate, { amount: "5", due_date: "2026-03-12" })).body.data;
    expect(later).toMatchObject({
      status: "scheduled",
      amount: "10.50",
      next_attempt_at: at("2026-03-12", 0),
      attempt_count: 0,
      order_no: null,
      attempts: [],
    });
    const list = async (query: string) => {
      const { data, meta } = (await tenant.api("GET", `/emandate/payments?${query}`)).body;
      return [data.map(({ id }: Json) => id), meta.sums];
    };
    const both = [{ currency: "MYR", amount: "15.50", rows: 2 }];
    expect(await list("sort=amount&sums=true&limit=1")).toEqual([[never.id], both]);
    expect(await list("sort=-amount&status=scheduled&sums=true")).toEqual([[later.id, never.id], both]);
    expect(await list("to=2026-03-11&sums=true")).toEqual([[], []]);
    expect(await list("sort=due_date")).toEqual([[later.id, never.id], undefined]);
    const cancelled = await tenant.api("POST", `/emandate/payments/${never.id}/cancel`);
    expect(cancelled.body.data).toMatchObject({ status: "cancelled", next_attempt_at: null });
    expect((await tenant.api("POST", `/emandate/payments/${never.id}/cancel`)).status).toBe(409);
    await tenant.api("POST", "/emandate/collections/run", {});
    expect((await getPayment(tenant.api, later.id)).status).toBe("scheduled");
    await moveTo(tenant, at("2026-03-12", 0));
    const { body } = await tenant.api("POST", "/emandate/collections/run", {});
    expect(body.data.counts).toMatchObject({ due: 0, submitted: 1 });
    expect(await getPayment(tenant.api, later.id)).toMatchObject({ status: "submitted", attempt_count: 1 });
    expect((await tenant.api("POST", `/emandate/payments/${later.id}/cancel`)).status).toBe(409);
  });

  test("what a period has counts, also what waits, and failed attempts do not", async () => {
    const tenant = await freshTenant();
    const mandate = await addMandate(service.deps, tenant, null, { max_no_debit: "2" });
    const first = (await debit(tenant, mandate)).body.data;
    expect((await debit(tenant, mandate, { amount: "1", due_date: "2026-03-31" })).status).toBe(201);
    const { status, body } = await debit(tenant, mandate);
    expect([status, body.details]).toEqual([
      422,
      [{ path: "/due_date", message: "is not allowed: the mandate allows 2 in a period, and 2026-03 has 2" }],
    ]);
    expect((await debit(tenant, mandate, { amount: "1", due_date: "2026-04-01" })).status).toBe(201);
    await setConfig(tenant, { suspend_after_failures: 10 });
    await answer(service.deps, tenant, first.order_no, CLOSED);
    expect((await debit(tenant, mandate)).status).toBe(201);
    expect((await debit(tenant, mandate)).status).toBe(422);
  });

  test("of many at once only as many get through as the mandate allows", async () => {
    const tenant = await freshTenant();
    const mandate = await addMandate(service.deps, tenant, null, { max_no_debit: "3" });
    const answers = await Promise.all(Array.from({ length: 12 }, () => debit(tenant, mandate)));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses.filter((status) => status === 201)).toHaveLength(3);
    expect(new Set(statuses)).toEqual(new Set([201, 422]));
    expect(await paymentsOf(tenant.api, mandate)).toHaveLength(3);
  });

  test("a mandate that is not active takes none, and names why", async () => {
    const tenant = await freshTenant();
    for (const status of ["suspended", "terminated", "pending", "expired"] as const) {
      const id = await addMandate(service.deps, tenant, null, { status });
      const answered = await debit(tenant, id);
      expect([answered.status, answered.body.error ?? answered.body.message]).toEqual([
        409,
        `Cannot debit mandate ${id}: it is ${status}`,
      ]);
    }
  });
});

describe("failures", () => {
  test("a retriable one is tried again on the next working day, as a further attempt, until none is left", async () => {
    const tenant = await freshTenant("2026-03-05");
    await setConfig(tenant, { max_retries: 2, holidays: ["2026-03-06"], suspend_after_failures: 1 });
    const mandate = await addMandate(service.deps, tenant, null);
    const { id } = (await debit(tenant, mandate)).body.data;
    await answer(service.deps, tenant, `D${id}-1`, NO_FUNDS);
    const next_attempt_at = at("2026-03-09", 0); // past a day off and a weekend
    expect(await getPayment(tenant.api, id)).toMatchObject({
      status: "retry_scheduled",
      next_attempt_at,
      response_code: "51",
      attempt_count: 1,
    });
    await tenant.api("POST", "/emandate/collections/run", { date: "2026-03-08" });
    expect((await getPayment(tenant.api, id)).status).toBe("retry_scheduled");
    await moveTo(tenant, at("2026-03-09"));
    await tenant.api("POST", "/emandate/collections/run", {});
    expect(await getPayment(tenant.api, id)).toMatchObject({ status: "submitted", order_no: `D${id}-2` });
    // What is said again of the first attempt changes nothing.
    expect(await answer(service.deps, tenant, `D${id}-1`, NO_FUNDS)).toBe(false);
    await answer(service.deps, tenant, `D${id}-2`, NO_FUNDS);
    const retried = await tenant.api("POST", `/emandate/payments/${id}/retry`);
    expect(retried.body.data).toMatchObject({ status: "submitted", attempt_count: 3, next_attempt_at: null });
    expect(retried.body.data.attempts.map(({ attempt_no }: { attempt_no: number }) => attempt_no)).toEqual([
      1, 2, 3,
    ]);
    expect(await mandateStatus(tenant, mandate)).toBe("active");
    await answer(service.deps, tenant, `D${id}-3`, NO_FUNDS);
    expect(await getPayment(tenant.api, id)).toMatchObject({ status: "failed", next_attempt_at: null });
    expect((await tenant.api("POST", `/emandate/payments/${id}/retry`)).status).toBe(409);
    expect(await mandateStatus(tenant, mandate)).toBe("suspended");
    expect(await recordedEvents(tenant.api)).toEqual(
      [
        "scheduled",
        "submitted",
        "retry_scheduled",
        "submitted",
        "retry_scheduled",
        "submitted",
        "failed",
      ].map((what) => `${what} ${id}`),
    );
  });

  test("one that is not, a late one and a charge-back count against the mandate; a payment in between forgives", async () => {
    const tenant = await freshTenant();
    await setConfig(tenant, { suspend_after_failures: 2 });
    const mandate = await addMandate(service.deps, tenant, null, { max_no_debit: "9" });
    const pay = async () => (await debit(tenant, mandate)).body.data.id as number;
    const closed = await pay();
    await answer(service.deps, tenant, `D${closed}-1`, CLOSED);
    expect((await getPayment(tenant.api, closed)).status).toBe("failed");
    const good = await pay();
    await answer(service.deps, tenant, `D${good}-1`, PAID);
    const late = await pay();
    await answer(service.deps, tenant, `D${late}-1`, PAID);
    expect(await answer(service.deps, tenant, `D${late}-1`, NO_FUNDS)).toBe(true);
    expect(await answer(service.deps, tenant, `D${late}-1`, NO_FUNDS)).toBe(false);
    expect(await getPayment(tenant.api, late)).toMatchObject({ status: "failed", next_attempt_at: null });
    expect(await mandateStatus(tenant, mandate)).toBe("active");
    expect(await answer(service.deps, tenant, `D${good}-1`, CHARGED_BACK)).toBe(true);
    expect(await answer(service.deps, tenant, `D${good}-1`, PAID)).toBe(false);
    expect((await getPayment(tenant.api, good)).status).toBe("charged_back");
    expect(await mandateStatus(tenant, mandate)).toBe("suspended");
    const told = await recordedEvents(tenant.api);
    expect(told.filter((one) => one.endsWith(` ${good}`)).at(-1)).toBe(`charged_back ${good}`);
  });

  test("a charge-back that is heard before the payment ends the same", async () => {
    const tenant = await freshTenant();
    await setConfig(tenant, { suspend_after_failures: 10 });
    const mandate = await addMandate(service.deps, tenant, null, { max_no_debit: "9" });
    for (const results of [
      [PAID, CHARGED_BACK],
      [CHARGED_BACK, PAID],
      [CHARGED_BACK, PAID, CHARGED_BACK],
    ]) {
      const { id } = (await debit(tenant, mandate)).body.data;
      for (const result of results) await answer(service.deps, tenant, `D${id}-1`, result);
      expect((await getPayment(tenant.api, id)).status).toBe("charged_back");
    }
    const { id } = (await debit(tenant, mandate)).body.data;
    for (const result of [PAID, CLOSED, CLOSED]) await answer(service.deps, tenant, `D${id}-1`, result);
    expect((await getPayment(tenant.api, id)).status).toBe("failed");
  });

  test("that it was paid, reported again as FPX does, does not say that the money stays", async () => {
    const tenant = await freshTenant();
    const mandate = await addMandate(service.deps, tenant, null);
    const { id } = (await debit(tenant, mandate)).body.data;
    const told = { ...PAID, answers: "first" } as const;
    expect(await answer(service.deps, tenant, `D${id}-1`, told)).toBe(true);
    expect(await answer(service.deps, tenant, `D${id}-1`, told)).toBe(false);
    expect((await getPayment(tenant.api, id)).attempts[0].completed_at).toBeNull();
    expect(await answer(service.deps, tenant, `D${id}-1`, { ...CLOSED, answers: "first" })).toBe(true);
    expect((await getPayment(tenant.api, id)).status).toBe("failed");
  });

  test("a debit that fails after its mandate has left force is not tried again", async () => {
    const tenant = await freshTenant();
    const mandate = await addMandate(service.deps, tenant, null, { max_no_debit: "9" });
    const first = (await debit(tenant, mandate)).body.data.id;
    const ended = { mandate_id: mandate };
    const path = "/emandate/simulator/scenarios/mandate_terminated_by_bank/run";
    expect((await tenant.api("POST", path, ended)).status).toBe(202);
    await answer(service.deps, tenant, `D${first}-1`, NO_FUNDS);
    expect(await getPayment(tenant.api, first)).toMatchObject({ status: "failed", next_attempt_at: null });

    const other = await addMandate(service.deps, tenant, null, { max_no_debit: "9" });
    const second = (await debit(tenant, other)).body.data.id;
    expect((await tenant.api("POST", `/emandate/mandates/${other}/suspend`)).status).toBe(200);
    await answer(service.deps, tenant, `D${second}-1`, NO_FUNDS);
    expect((await getPayment(tenant.api, second)).status).toBe("retry_scheduled");
  });

  test("a retry is refused where the mandate does not allow it now, and stays as it was", async () => {
    const tenant = await freshTenant();
    const mandate = await addMandate(service.deps, tenant, null);
    const { id } = (await debit(tenant, mandate)).body.data;
    expect((await tenant.api("POST", `/emandate/payments/${id}/retry`)).status).toBe(409);
    await answer(service.deps, tenant, `D${id}-1`, NO_FUNDS);
    expect((await debit(tenant, mandate)).status).toBe(201);
    const retried = await tenant.api("POST", `/emandate/payments/${id}/retry`);
    expect(retried.status).toBe(409);
    expect(retried.body.error ?? retried.body.message).toContain("allows 1 in a period");
    expect((await getPayment(tenant.api, id)).status).toBe("retry_scheduled");
  });
});
