import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { failuresInARow, type PaymentOutcome } from "../../../src/emandate/payments/rules.ts";
import { type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { propertyCases } from "../../support/properties.ts";
import {
  addMandate,
  answer,
  at,
  CHARGED_BACK,
  CLOSED,
  getPayment,
  PAID,
  paymentsOf,
  recordedEvents,
} from "./fixtures.ts";

// What counts against a mandate, and what becomes of its payments when it is suspended and resumed.

const clock = new TestClock(at("2026-03-10"));

const service = useService({ clock });

async function moveTo(tenant: Tenant, when: string): Promise<void> {
  clock.set(when);
  tenant.api = await service.signIn(tenant.admin_email);
}

async function freshTenant(suspend_after_failures: number, on = "2026-01-05"): Promise<Tenant> {
  clock.set(at(on));
  const tenant = await service.addTenant();
  expect((await tenant.api("PUT", "/emandate/config", { suspend_after_failures })).status).toBe(200);
  return tenant;
}

const run = async ({ api }: Tenant): Promise<Json> =>
  (await api("POST", "/emandate/collections/run", {})).body.data;
const read = async ({ api }: Tenant, id: number): Promise<Json> =>
  (await api("GET", `/emandate/mandates/${id}`)).body.data;
const resume = ({ api }: Tenant, id: number) => api("POST", `/emandate/mandates/${id}/resume`, {});

describe("failures in a row", () => {
  test("charge-backs count together that come when the next payment was paid already", async () => {
    const tenant = await freshTenant(3);
    const mandate = await addMandate(service.deps, tenant, "2026-01-05");
    const collected: number[] = [];
    for (const month of ["01", "02", "03", "04"]) {
      await moveTo(tenant, at(`2026-${month}-05`));
      await run(tenant);
      const payment = (await paymentsOf(tenant.api, mandate)).at(-1);
      await answer(service.deps, tenant, payment.order_no, PAID);
      const last = collected.at(-1);
      // The one of the month before comes back.
      if (last !== undefined) await answer(service.deps, tenant, `D${last}-1`, CHARGED_BACK);
      collected.push(payment.id);
      expect([month, (await read(tenant, mandate)).status]).toEqual([
        month,
        month === "04" ? "suspended" : "active",
      ]);
    }
    expect((await read(tenant, mandate)).status_reason).toBe("3 payments in a row failed for good");
  });

  test("one that was paid and stays so parts them; what failed before a resumption is forgiven", async () => {
    const tenant = await freshTenant(2);
    const mandate = await addMandate(service.deps, tenant, null, { max_no_debit: "9" });
    const debit = async (...results: (typeof PAID)[]) => {
      const path = `/emandate/mandates/${mandate}/payments`;
      const { order_no } = (await tenant.api("POST", path, { amount: "20" })).body.data;
      for (const result of results) await answer(service.deps, tenant, order_no, result);
      return order_no as string;
    };
    await debit(CLOSED);
    const between = await debit(PAID);
    await debit(PAID, CHARGED_BACK);
    expect((await read(tenant, mandate)).status).toBe("active");
    await answer(service.deps, tenant, between, CLOSED);
    expect((await read(tenant, mandate)).status_reason).toBe("3 payments in a row failed for good");
    expect((await resume(tenant, mandate)).status).toBe(200);
    await debit(CLOSED);
    expect((await read(tenant, mandate)).status).toBe("active");
    await debit(CLOSED);
    expect((await read(tenant, mandate)).status_reason).toBe("2 payments in a row failed for good");
  });

  test("are as many as stand side by side, whenever each was reported", () => {
    const states = fc.array(fc.constantFrom("paid", "failed", "charged_back"), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(states, fc.infiniteStream(fc.nat()), (all, order) => {
        const outcomes = all.map((status, i): PaymentOutcome => {
          const debit_date = `2026-01-${String(1 + Math.floor(i / 2)).padStart(2, "0")}`;
          return { id: i + 1, mandate_id: 1, debit_date, status };
        });
        const told = outcomes.toSorted(() => ((order.next().value ?? 0) % 3) - 1);
        const runs = all
          .map((status) => (status === "paid" ? "p" : "f"))
          .join("")
          .matchAll(/f+/g);
        for (const { index, 0: found } of runs) {
          for (let i = 0; i < found.length; i++) {
            expect(failuresInARow(told, index + i + 1)).toBe(found.length);
          }
        }
      }),
      propertyCases(300),
    );
  });
});

describe("a debit by hand of a mandate that is resumed", () => {
  const later = async (tenant: Tenant, mandate: number, due_date: string): Promise<number> => {
    const path = `/emandate/mandates/${mandate}/payments`;
    const { status, body } = await tenant.api("POST", path, { amount: "20", due_date });
    expect([status, body]).toEqual([201, expect.anything()]);
    return body.data.id;
  };

  test("keeps its date: it waits for it, and is not made on another one when its period is over", async () => {
    const tenant = await freshTenant(1, "2026-03-02");
    const mandate = await addMandate(service.deps, tenant, null, { max_no_debit: "9" });
    const passed = await later(tenant, mandate, "2026-03-12");
    const this_month = await later(tenant, mandate, "2026-05-04");
    const to_come = await later(tenant, mandate, "2026-05-20");
    await tenant.api("POST", `/emandate/mandates/${mandate}/suspend`, {});
    await moveTo(tenant, at("2026-05-06"));
    expect((await resume(tenant, mandate)).status).toBe(200);
    await run(tenant);
    const statuses = [];
    for (const id of [passed, this_month, to_come]) {
      const { status, due_date } = await getPayment(tenant.api, id);
      statuses.push([due_date, status]);
    }
    expect(statuses).toEqual([
      ["2026-03-12", "skipped"],
      ["2026-05-04", "submitted"],
      ["2026-05-20", "scheduled"],
    ]);
    expect(await recordedEvents(tenant.api)).toContain(`skipped ${passed}`);
  });

  test("is made after an outage, in which nobody suspended anything", async () => {
    const tenant = await freshTenant(1, "2026-03-02");
    const mandate = await addMandate(service.deps, tenant, null);
    const id = await later(tenant, mandate, "2026-03-31");
    await moveTo(tenant, at("2026-04-01"));
    await run(tenant);
    expect((await getPayment(tenant.api, id)).status).toBe("submitted");
  });
});

describe("a skipped payment", () => {
  /** A mandate of which March was missed. */
  const missed = async (over: object = {}) => {
    const tenant = await freshTenant(1, "2026-03-02");
    const mandate = await addMandate(service.deps, tenant, "2026-03-10", { max_no_debit: "2", ...over });
    await moveTo(tenant, at("2026-04-02"));
    await run(tenant);
    const [payment] = await paymentsOf(tenant.api, mandate);
    expect([payment.status, payment.period_key]).toEqual(["skipped", "2026-03"]);
    const retry = () => tenant.api("POST", `/emandate/payments/${payment.id}/retry`, {});
    return { tenant, mandate, payment, retry };
  };

  test("can be collected again, once, as a debit of the day, beside that of the running period", async () => {
    const { tenant, mandate, payment, retry } = await missed();
    const answers = await Promise.all([retry(), retry(), retry()]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
    expect(await getPayment(tenant.api, payment.id)).toMatchObject({
      status: "submitted",
      attempt_count: 1,
      order_no: `D${payment.id}-1`,
    });
    await moveTo(tenant, at("2026-04-10"));
    expect((await run(tenant)).counts).toMatchObject({ submitted: 1, refused: 0 });
    const periods = (await paymentsOf(tenant.api, mandate)).map((one) => `${one.period_key} ${one.status}`);
    expect(periods).toEqual(["2026-03 submitted", "2026-04 submitted"]);
    await answer(service.deps, tenant, `D${payment.id}-1`, PAID);
    expect((await getPayment(tenant.api, payment.id)).status).toBe("paid");
  });

  test("is refused, and stays as it was, where the mandate does not allow it", async () => {
    const { tenant, mandate, payment, retry } = await missed({ max_no_debit: "1" });
    const path = `/emandate/mandates/${mandate}/payments`;
    expect((await tenant.api("POST", path, { amount: "20" })).status).toBe(201);
    const refused = await retry();
    expect([refused.status, refused.body.error]).toEqual([
      409,
      `Cannot retry payment ${payment.id}: Not made: the mandate allows 1 in a period, and 2026-04 has 1`,
    ]);
    await tenant.api("POST", `/emandate/mandates/${mandate}/suspend`, {});
    expect((await retry()).status).toBe(409);
    const ended = { mandate_id: mandate };
    await tenant.api("POST", "/emandate/simulator/scenarios/mandate_terminated_by_bank/run", ended);
    expect((await retry()).body.error).toContain("the mandate is terminated");
    expect((await getPayment(tenant.api, payment.id)).status).toBe("skipped");
  });
});
