import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mandateOrderTable } from "../../../src/emandate/orders/tables.ts";
import { type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { propertyCases } from "../../support/properties.ts";
import { addMandate, answer, at, getPayment, NO_FUNDS, paymentsOf } from "../payments/fixtures.ts";

// What a change of a mandate does to what is due and to what waits. The bank takes each within seconds.

const clock = new TestClock(at("2026-03-10"));

const service = useService({ clock });

async function freshTenant(on: string): Promise<Tenant> {
  clock.set(at(on));
  return service.addTenant();
}

async function moveTo(tenant: Tenant, when: string): Promise<void> {
  clock.set(when);
  tenant.api = await service.signIn(tenant.admin_email);
}

const read = async ({ api }: Tenant, id: number): Promise<Json> =>
  (await api("GET", `/emandate/mandates/${id}`)).body.data;

/** Asks for a change, and lets the bank take it. */
async function amend(tenant: Tenant, id: number, change: object): Promise<Json> {
  expect((await tenant.api("POST", `/emandate/mandates/${id}/amend`, change)).status).toBe(202);
  clock.set(clock.now().add({ seconds: 3 }).toString());
  await runNamedJob(service, "mandate_orders");
  const mandate = await read(tenant, id);
  expect(mandate.amendment).toBeNull();
  return mandate;
}

const preview = ({ api }: Tenant, id: number, query: string) =>
  api("GET", `/emandate/mandates/${id}/amend/preview?${query}`);

const run = async ({ api }: Tenant): Promise<Json> =>
  (await api("POST", "/emandate/collections/run", {})).body.data;
const rows = async (tenant: Tenant, id: number) =>
  (await paymentsOf(tenant.api, id)).map(({ period_key, status }) => `${period_key} ${status}`);

describe("an amended amount", () => {
  test("holds for the collection that waits to be tried again, not for a debit by hand", async () => {
    const tenant = await freshTenant("2026-03-10");
    const id = await addMandate(service.deps, tenant, "2026-03-10", { max_no_debit: "3" });
    await run(tenant);
    const by_hand = { amount: "45", due_date: "2026-03-11" };
    await tenant.api("POST", `/emandate/mandates/${id}/payments`, by_hand);
    const [collected] = await paymentsOf(tenant.api, id);
    await answer(service.deps, tenant, `D${collected.id}-1`, NO_FUNDS);
    await tenant.api("POST", `/emandate/mandates/${id}/suspend`, {});
    expect((await preview(tenant, id, "amount=30")).body.data.waiting_payments).toBe(1);
    await amend(tenant, id, { amount: "30" });
    await tenant.api("POST", `/emandate/mandates/${id}/resume`, {});
    expect(await getPayment(tenant.api, collected.id)).toMatchObject({
      status: "retry_scheduled",
      amount: "30.00",
    });
    await moveTo(tenant, at("2026-03-11"));
    await run(tenant);
    const sent = await paymentsOf(tenant.api, id);
    expect(sent.map(({ amount, status }) => [amount, status])).toEqual([
      ["30.00", "submitted"],
      ["45.00", "submitted"],
    ]);
    const t = service.deps.store.read.use(mandateOrderTable);
    const orders = await service.deps.store.read.select().from(t);
    const own = orders.filter(({ payment_id }) => payment_id === collected.id);
    expect(own.map(({ amount }) => amount)).toEqual(["50.00", "30.00"]);
  });
});

describe("an amended frequency", () => {
  test("loses no collection that was due before it, and counts from the next one", async () => {
    const tenant = await freshTenant("2026-03-06");
    const id = await addMandate(service.deps, tenant, "2026-03-05");
    const told = await preview(tenant, id, "frequency=Daily&amount=20");
    expect([told.status, told.body.data]).toEqual([
      200,
      {
        before: {
          bankscheme_txn_amount: "50.00",
          max_amount: "100.00",
          frequency: "Monthly",
          expiry_date: null,
          next_collections: ["2026-03-05", "2026-04-05", "2026-05-05"],
        },
        after: {
          bankscheme_txn_amount: "20.00",
          max_amount: "100.00",
          frequency: "Daily",
          expiry_date: null,
          next_collections: ["2026-04-05", "2026-04-06", "2026-04-07"],
        },
        due: ["2026-03-05"],
        waiting_payments: 0,
      },
    ]);
    const mandate = await amend(tenant, id, { frequency: "Daily", amount: "20" });
    expect(mandate.next_collection_at).toBe(at("2026-04-05", 0));
    expect(await rows(tenant, id)).toEqual(["2026-03 scheduled"]);
    await run(tenant);
    expect(await rows(tenant, id)).toEqual(["2026-03 submitted"]);
    expect((await paymentsOf(tenant.api, id))[0].amount).toBe("20.00");
    await moveTo(tenant, at("2026-04-06"));
    await run(tenant);
    expect(await rows(tenant, id)).toEqual([
      "2026-03 submitted",
      "2026-04-05 skipped",
      "2026-04-06 submitted",
    ]);
  });

  test("leaves further attempts their period, and counts debits by itself", async () => {
    const tenant = await freshTenant("2026-03-04");
    const monthly = await addMandate(service.deps, tenant, "2026-03-04");
    const daily = await addMandate(service.deps, tenant, "2026-03-03", { frequency: "Daily" });
    await run(tenant);
    const [failed] = await paymentsOf(tenant.api, monthly);
    await answer(service.deps, tenant, `D${failed.id}-1`, NO_FUNDS);
    await amend(tenant, monthly, { frequency: "Daily" });
    // What was debited each day does not use up the month's.
    expect((await preview(tenant, daily, "frequency=Monthly")).body.data.after.next_collections[0]).toBe(
      "2026-03-05",
    );
    await amend(tenant, daily, { frequency: "Monthly" });
    await moveTo(tenant, at("2026-03-05"));
    await run(tenant);
    expect(await rows(tenant, monthly)).toEqual(["2026-03 submitted"]);
    expect(await rows(tenant, daily)).toEqual([
      "2026-03-03 skipped",
      "2026-03-04 submitted",
      "2026-03 submitted",
    ]);
  });

  test("of a company that collects by itself does not make the job collect", async () => {
    const tenant = await freshTenant("2026-03-06");
    await tenant.api("PUT", "/emandate/config", { auto_collect: false });
    const id = await addMandate(service.deps, tenant, "2026-03-05");
    await amend(tenant, id, { frequency: "Weekly" });
    await runNamedJob(service, "collections");
    expect(await rows(tenant, id)).toEqual(["2026-03 scheduled"]);
    expect((await tenant.api("GET", "/emandate/collections")).body.data).toEqual([]);
    expect((await run(tenant)).counts.submitted).toBe(1);
  });

  const FREQUENCIES = ["Daily", "Weekly", "Monthly", "Yearly"] as const;
  test("comes to what the preview said, from any day to any frequency", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...FREQUENCIES),
        fc.constantFrom(...FREQUENCIES),
        fc.integer({ min: -40, max: 20 }),
        fc.option(fc.integer({ min: 0, max: 60 })),
        async (before, after, first_in, ends_in) => {
          fc.pre(before !== after);
          const tenant = await freshTenant("2026-03-20");
          const today = Temporal.PlainDate.from("2026-03-20");
          const first = today.add({ days: first_in }).toString();
          const id = await addMandate(service.deps, tenant, first, { frequency: before });
          const expiry = ends_in === null ? "" : `&expiry_date=${today.add({ days: ends_in }).toString()}`;
          const said = (await preview(tenant, id, `frequency=${after}${expiry}`)).body.data;
          const expiry_date = said.after.expiry_date;
          await amend(tenant, id, { frequency: after, ...(expiry_date === null ? {} : { expiry_date }) });
          const made = await paymentsOf(tenant.api, id);
          const due = made.filter(({ status }) => status === "scheduled").map(({ due_date }) => due_date);
          expect(due).toEqual(said.due);
          // The running period of before is collected where it was due, whatever follows.
          expect(due.length).toBeLessThanOrEqual(1);
          await run(tenant);
          const next = (await read(tenant, id)).next_collection_at;
          const [soon] = said.after.next_collections.filter((day: string) => day > today.toString());
          expect(next).toBe(soon === undefined ? null : at(soon, 0));
          const collected = (await paymentsOf(tenant.api, id)).filter(({ status }) => status !== "skipped");
          const wanted = first_in <= 0 && isRunning(before, first) ? 1 : 0;
          expect([
            collected.length >= wanted,
            collected.every(({ status }) => status === "submitted"),
          ]).toEqual([true, true]);
        },
      ),
      propertyCases(25),
    );
  }, 600_000);

  /** Whether a mandate that began on a day before 20 March has a day of collection in the period that runs then. */
  function isRunning(frequency: (typeof FREQUENCIES)[number], first: string): boolean {
    const day = Temporal.PlainDate.from(first);
    if (frequency === "Daily") return true;
    // 20 March is a Friday.
    if (frequency === "Weekly") return day.dayOfWeek <= 5;
    if (frequency === "Monthly") return day.day <= 20;
    return day.year === 2026;
  }
});

describe("a preview", () => {
  test("is refused as the change would be, and changes nothing", async () => {
    const tenant = await freshTenant("2026-03-10");
    const id = await addMandate(service.deps, tenant, null);
    const before = await read(tenant, id);
    for (const [query, path] of [
      ["", "at least one of amount, frequency and expiry_date"],
      ["amount=0", "/amount"],
      ["frequency=monthly", "/frequency"],
      ["expiry_date=2026-03-09", "/expiry_date"],
      ["other=1", "/other"],
    ]) {
      const { status, body } = await preview(tenant, id, query ?? "");
      expect([query, status, JSON.stringify(body).includes(path ?? "")]).toEqual([query, 422, true]);
    }
    // One that is debited by hand is collected two working days from the day on which the bank takes it.
    const said = (await preview(tenant, id, "amount=10")).body.data;
    expect([said.before.next_collections, said.after.next_collections[0]]).toEqual([[], "2026-03-12"]);
    expect(await read(tenant, id)).toEqual(before);
    const other = await freshTenant("2026-03-10");
    expect((await preview(other, id, "amount=10")).status).toBe(404);
    await tenant.api("POST", `/emandate/mandates/${id}/terminate`, {});
    expect((await preview(tenant, id, "amount=10")).status).toBe(409);
  });
});
