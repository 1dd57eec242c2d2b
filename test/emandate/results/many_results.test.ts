import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { findOrderByNumber } from "../../../src/emandate/orders/queries.ts";
import { applyPaymentResults } from "../../../src/emandate/results/apply_to_payment.ts";
import { mandateTable } from "../../../src/emandate/mandates/tables.ts";
import { type Tenant, TestClock, useService } from "../../support/harness.ts";
import { propertyCases } from "../../support/properties.ts";
import {
  addMandate,
  answer,
  at,
  CHARGED_BACK,
  CLOSED,
  getPayment,
  NO_FUNDS,
  PAID,
  recordedEvents,
} from "../payments/fixtures.ts";

const RESULTS = { PAID, NO_FUNDS, CLOSED, CHARGED_BACK };
type ResultName = keyof typeof RESULTS;
/** Two payments of each mandate: what is heard of one counts for the other. */
const MANDATES = 3;
const PAYMENTS = 2 * MANDATES;

const clock = new TestClock(at("2026-03-10"));
const service = useService({ clock });

/** A company with debits under way, in the order in which they are answered. */
async function openDebits(): Promise<{ tenant: Tenant; mandates: number[]; payments: number[] }> {
  const tenant = await service.addTenant();
  await tenant.api("PUT", "/emandate/config", { suspend_after_failures: 2 });
  const mandates: number[] = [];
  for (let i = 0; i < MANDATES; i++) {
    mandates.push(await addMandate(service.deps, tenant, null, { max_no_debit: "9" }));
  }
  const payments: number[] = [];
  for (let i = 0; i < PAYMENTS; i++) {
    const path = `/emandate/mandates/${mandates[i % MANDATES]}/payments`;
    const { status, body } = await tenant.api("POST", path, { amount: "20" });
    expect(status).toBe(201);
    payments.push(body.data.id);
  }
  return { tenant, mandates, payments };
}

/** What there is to see of it, with payments and mandates counted from the first. */
async function seen({ tenant, mandates, payments }: Awaited<ReturnType<typeof openDebits>>) {
  const t = service.deps.store.read.use(mandateTable);
  const rows = await service.deps.store.read.select().from(t);
  const told = await recordedEvents(tenant.api);
  return {
    payments: await Promise.all(
      payments.map(async (id) => {
        const { status, response_code, next_attempt_at, attempts } = await getPayment(tenant.api, id);
        const ended = attempts.map(({ completed_at }: { completed_at: string | null }) => completed_at);
        return { status, response_code, next_attempt_at, ended };
      }),
    ),
    mandates: mandates.map((id) => {
      const row = rows.find((one) => one.id === id);
      return [row?.status, row?.status_reason];
    }),
    told: told
      .map((line) => {
        const [state, id] = line.split(" ");
        return `${state} ${payments.indexOf(Number(id))}`;
      })
      .toSorted((a, b) => a.localeCompare(b)),
  };
}

const orderNoOf = async ({ api }: Tenant, id: number) => (await getPayment(api, id)).order_no;

test("answers that are applied together come to what they do one by one", async () => {
  const said = fc.constantFrom(...(Object.keys(RESULTS) as ResultName[]));
  await fc.assert(
    fc.asyncProperty(
      fc.array(said, { minLength: PAYMENTS, maxLength: PAYMENTS }),
      fc.boolean(),
      async (all, twice) => {
        const one = await openDebits();
        const many = await openDebits();
        for (let round = 0; round < (twice ? 2 : 1); round++) {
          for (const [i, name] of all.entries()) {
            await answer(
              service.deps,
              one.tenant,
              await orderNoOf(one.tenant, one.payments[i] ?? 0),
              RESULTS[name],
            );
          }
          const numbers = await Promise.all(many.payments.map((id) => orderNoOf(many.tenant, id)));
          await service.deps.store.tx(async (q) => {
            const heard = [];
            for (const [i, name] of all.entries()) {
              const order = await findOrderByNumber(q, numbers[i]);
              if (order) heard.push({ order, result: RESULTS[name] });
            }
            expect(heard).toHaveLength(PAYMENTS);
            await applyPaymentResults({ q, scope: many.tenant, now: clock.now() }, heard);
          });
        }
        expect(await seen(many)).toEqual(await seen(one));
      },
    ),
    propertyCases(8),
  );
});

test("an answer counts by the order as it is, also where another one came after the order was read", async () => {
  const { tenant, payments } = await openDebits();
  const [id = 0] = payments;
  const { store } = service.deps;
  const order = await findOrderByNumber(store.read, await orderNoOf(tenant, id));
  if (!order) throw new Error("The payment has no order");
  const tx = { scope: { company_id: tenant.company_id }, now: clock.now() };
  for (const result of [PAID, NO_FUNDS])
    await store.tx((q) => applyPaymentResults({ ...tx, q }, [{ order, result }]));
  const { status } = await getPayment(tenant.api, id);
  const after = await findOrderByNumber(store.read, order.order_no);
  expect([status, after?.status]).toEqual(["failed", "failed"]);
});
