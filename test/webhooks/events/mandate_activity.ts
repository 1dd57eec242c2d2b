import { applyResult } from "../../../src/emandate/results/apply_result.ts";
import { findLastOrder, findOrderByNumber } from "../../../src/emandate/orders/queries.ts";
import { resultOf } from "../../../src/emandate/scheme/response_codes.ts";
import type { Api, Service, Json, TestClock } from "../../support/harness.ts";
import { STATES, type EmandateFixture, emandateFixtureOf } from "../../emandate/mandates/fixtures.ts";

/** Does something of every kind with mandates and payments. It takes months: the admin is signed in anew. */
export async function doEverythingWithMandates(service: Service, clock: TestClock): Promise<Api> {
  const world = emandateFixtureOf(service, clock);
  for (const state of STATES) await world.mandateIn(state);
  const { id } = await world.mandateIn("suspended");
  await world.act(id, "resume");
  await world.act(id, "amend", { amount: "20.00" }, 202);
  await world.pass({ seconds: 5 });
  for (const end of [() => refuse(world, id), () => world.act(id, "withdraw")]) {
    await world.act(id, "amend", { amount: "30.00" }, 202);
    await end();
    await world.act(id, "terminate");
    await end();
  }
  return doPayments(world);
}

/** The bank refuses what it was last asked: in the sandbox it never does. */
async function refuse(
  { service: { deps, company_id }, clock }: EmandateFixture,
  mandate_id: number,
): Promise<void> {
  await deps.store.tx(async (q) => {
    const order = await findLastOrder(
      { q, scope: { company_id }, now: Temporal.Now.instant() },
      { mandate_id },
    );
    if (!order) throw new Error("Nothing was asked");
    await applyResult({ q, scope: { company_id }, now: clock.now() }, order, resultOf("92"));
  });
}

/** Money that came back is said to be there; somebody looks. */
async function contradict(
  { service: { deps, api }, clock }: EmandateFixture,
  { order_no }: Json,
): Promise<void> {
  await deps.store.tx(async (q) => {
    const order = await findOrderByNumber(q, order_no);
    if (!order) throw new Error("Nothing was asked");
    for (const status of ["charged_back", "ok"] as const) {
      await applyResult({ q, scope: order, now: clock.now() }, order, { ...resultOf("00"), status });
    }
  });
  const { body } = await api("GET", "/emandate/flags");
  await api("POST", `/emandate/flags/${body.data[0].id}/resolve`, { note: "An old message" });
}

async function doPayments(world: EmandateFixture): Promise<Api> {
  const pay = async (due_date?: string): Promise<Json> => {
    const { id } = await world.mandateIn("active");
    const day = due_date === undefined ? {} : { due_date };
    const path = `/emandate/mandates/${id}/payments`;
    const { status, body } = await world.service.api("POST", path, { amount: "10.00", ...day });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.data;
  };
  for (const name of ["payment_insufficient_funds", "payment_account_closed", "payment_charged_back"]) {
    const { id: payment_id } = await pay();
    if (name === "payment_charged_back") await world.scenario("payment_paid", { payment_id });
    await world.scenario(name, { payment_id });
  }
  await contradict(world, await pay());
  const { id } = await pay("2026-12-01");
  await world.service.api("POST", `/emandate/payments/${id}/cancel`, {});
  // A month that nobody collected.
  const mandate = await world.mandate("Ahmad", { bankscheme_txn_amount: "10.00" });
  await world.act(mandate.id, "authorize");
  for (const name of ["mandate_authorized", "mandate_activated"]) {
    await world.scenario(name, { mandate_id: mandate.id });
  }
  await world.pass({ months: 3 });
  const api = await world.service.signIn(world.service.admin_email);
  await api("POST", "/emandate/collections/run", {});
  return api;
}
