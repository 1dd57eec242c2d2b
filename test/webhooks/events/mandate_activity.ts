import { applyResult } from "../../../src/emandate/results/apply_result.ts";
import { findLastOrder, findOrderByNumber } from "../../../src/emandate/orders/queries.ts";
import { resultOf } from "../../../src/emandate/scheme/response_codes.ts";
import type { Api, Service, Json, TestClock } from "../../support/harness.ts";
import { STATES, type EmandateFixture, emandateFixtureOf } from "../../emandate/mandates/fixtures.ts";

/** Does something of every kind with mandates and payments. It takes months: the admin is signed in anew. */
export async function doEverythingWithMandates(service: Service, clock: TestClock): Promise<Api> {
  const emandate = emandateFixtureOf(service, clock);
  for (const state of STATES) await emandate.mandateIn(state);
  const { id } = await emandate.mandateIn("suspended");
  await emandate.act(id, "resume");
  await emandate.act(id, "amend", { amount: "20.00" }, 202);
  await emandate.pass({ seconds: 5 });
  for (const end of [() => refuse(emandate, id), () => emandate.act(id, "withdraw")]) {
    await emandate.act(id, "amend", { amount: "30.00" }, 202);
    await end();
    await emandate.act(id, "terminate");
    await end();
  }
  return doPayments(emandate);
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

async function doPayments(emandate: EmandateFixture): Promise<Api> {
  const pay = async (due_date?: string): Promise<Json> => {
    const { id } = await emandate.mandateIn("active");
    const day = due_date === undefined ? {} : { due_date };
    const path = `/emandate/mandates/${id}/payments`;
    const { status, body } = await emandate.service.api("POST", path, { amount: "10.00", ...day });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.data;
  };
  for (const name of ["payment_insufficient_funds", "payment_account_closed", "payment_charged_back"]) {
    const { id: payment_id } = await pay();
    if (name === "payment_charged_back") await emandate.scenario("payment_paid", { payment_id });
    await emandate.scenario(name, { payment_id });
  }
  await contradict(emandate, await pay());
  const { id } = await pay("2026-12-01");
  await emandate.service.api("POST", `/emandate/payments/${id}/cancel`, {});
  // A month that nobody collected.
  const mandate = await emandate.mandate("Ahmad", { bankscheme_txn_amount: "10.00" });
  await emandate.act(mandate.id, "authorize");
  for (const name of ["mandate_authorized", "mandate_activated"]) {
    await emandate.scenario(name, { mandate_id: mandate.id });
  }
  await emandate.pass({ months: 3 });
  const api = await emandate.service.signIn(emandate.service.admin_email);
  await api("POST", "/emandate/collections/run", {});
  return api;
}
