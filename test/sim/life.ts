import { spyOn } from "bun:test";
import { call } from "../../src/app/operation.ts";
import {
  voidBillingModelChange,
  cancelBillingModelChange,
} from "../../src/billing/billing_model_changes/service.ts";
import { downgradeSubscription, upgradeSubscription } from "../../src/billing/credits/service.ts";
import { interruptRuns, runBilling } from "../../src/billing/runs/service.ts";
import { cancelSubscription } from "../../src/billing/subscriptions/service.ts";
import { interruptCollections } from "../../src/emandate/collections/service.ts";
import { resumeMandate, suspendMandate } from "../../src/emandate/mandates/service.ts";
import { createMandatePayment, retryMandatePayment } from "../../src/emandate/payments/service.ts";
import { findOrderByNumber } from "../../src/emandate/orders/queries.ts";
import { applyPaymentResults } from "../../src/emandate/results/apply_to_payment.ts";
import { JOBS } from "../../src/server/jobs.ts";
import { pick } from "../support/dice.ts";
import { checkBills } from "./check_bills.ts";
import { checkDebits, mandateRows, paymentRows } from "./check_debits.ts";
import { refusedOr, type SimCompany, type SimSubscription } from "./company.ts";
import { PLANS } from "./plans.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** One turn in so many is the last of its process, and in so many the clock jumps. */
const DEATHS = 250;
const JUMPS = 400;
const CREDIT_PLANS = PLANS.flatMap(({ type }, i) => (type === "credit" ? [i] : []));

type Action = (company: SimCompany, subscription: SimSubscription) => Promise<unknown>;

const ahead = ({ clock, roll }: SimCompany, before_days: number, after_days: number) =>
  new Date(
    clock.now_ms + (roll((before_days + after_days) * 24) - before_days * 24) * HOUR_MS + roll(3_600_000),
  );

const ACTIONS: Record<string, Action> = {
  async use(company, { id: subscription_id }) {
    const events = Array.from({ length: 1 + company.roll(3) }, () => ({
      id: crypto.randomUUID(),
      subscription_id,
      timestamp: ahead(company, company.roll(8) === 0 ? 75 : 3, 0).getTime(),
      timestamp_given: true,
      usage: `${company.roll(5) === 0 ? "-" : ""}${company.roll(150)}.${company.roll(10)}`,
      metadata: null,
    }));
    const send = () => company.deps.usage.append(company.company_id, events, company.clock.now_ms);
    await send();
    // Some send again what was stored.
    if (company.roll(4) === 0) await send();
  },
  change: (company, subscription) =>
    company.change(subscription, company.roll(PLANS.length), ahead(company, 45, 20).toISOString()),
  /** To another plan and back on the same day, more or less. */
  async correct(company, subscription) {
    const [from, to, at] = [subscription.plan, company.roll(PLANS.length), ahead(company, 10, 0)];
    await company.change(subscription, to, at.toISOString());
    const back = new Date(at.getTime() + 60_000 * (1 + company.roll(300)));
    await company.change(subscription, from, back.toISOString());
  },
  async turn(company, { id }) {
    const new_billing_model_id = company.models[pick(company.roll, CREDIT_PLANS)] ?? 0;
    const way = company.roll(2) === 0 ? upgradeSubscription : downgradeSubscription;
    await refusedOr(call(company.context(), way, { id, new_billing_model_id }));
  },
  async takeBack(company, { id, answered }) {
    const changeId = [...answered][company.roll(Math.max(1, answered.size))];
    if (changeId === undefined) return;
    const way = company.roll(2) === 0 ? voidBillingModelChange : cancelBillingModelChange;
    await refusedOr(call(company.context(), way, { id, changeId }));
  },
  async cancel(company, { id }) {
    if (company.roll(30) > 0) return;
    const at = company.roll(2) === 0 ? "now" : "period_end";
    await refusedOr(call(company.context(), cancelSubscription, { id, at } as const));
  },
  async bill(company) {
    const month = new Date(company.clock.now_ms - company.roll(75) * DAY_MS).toISOString().slice(0, 7);
    await refusedOr(call(company.context(), runBilling, company.roll(2) === 0 ? {} : { period: month }));
  },
  async suspend(company) {
    const mandate = pick(company.roll, await mandateRows(company));
    const way = mandate.status === "suspended" ? resumeMandate : suspendMandate;
    if (mandate.status === "active" && company.roll(3) > 0) return;
    await refusedOr(call(company.context(), way, { id: mandate.id, reason: "sim" }));
  },
  async debit(company) {
    const { id } = pick(company.roll, await mandateRows(company));
    const amount = `${1 + company.roll(90)}.00`;
    await refusedOr(call(company.context(), createMandatePayment, { id, amount }));
  },
  async retry(company) {
    const open = (await paymentRows(company)).filter(
      ({ status }) => status === "retry_scheduled" || status === "skipped",
    );
    if (open.length === 0) return;
    await refusedOr(call(company.context(), retryMandatePayment, { id: pick(company.roll, open).id }));
  },
  tell: (company) => tellUnasked(company),
  /** A bank that corrects itself about an attempt that another has followed, and somebody who debits once more. */
  async contradict(company) {
    const { bank, roll } = company;
    const followed = [...bank.sent.values()].slice(-40).filter(({ order_no }) => bank.isFollowed(order_no));
    if (followed.length === 0) return;
    const debit = pick(roll, followed);
    for (let i = 1 + roll(3); i > 0; i--) {
      bank.decide(debit);
      await tell(company, debit.order_no);
    }
    const mandate = (await mandateRows(company)).find(({ reference }) => reference === debit.reference);
    if (!mandate) return;
    await refusedOr(call(company.context(), createMandatePayment, { id: mandate.id, amount: "5.00" }));
  },
};
const CHANCES = {
  use: 10,
  change: 3,
  correct: 1,
  turn: 2,
  takeBack: 2,
  cancel: 1,
  bill: 2,
  suspend: 2,
  debit: 4,
  retry: 4,
  tell: 10,
  contradict: 4,
};
const DECK = Object.entries(CHANCES).flatMap(([name, times]) => Array.from({ length: times }, () => name));

/** The bank says of a debit how it stands, for the first time, again, or otherwise than before. */
async function tellUnasked(company: SimCompany): Promise<void> {
  const { bank, roll } = company;
  for (const { order_no, is_unconfirmed } of bank.sent.values())
    if (is_unconfirmed) await tell(company, order_no);
  const debits = [...bank.sent.values()].slice(-10);
  if (debits.length === 0) return;
  const debit = pick(roll, debits);
  if (debit.says === undefined || roll(2) === 0) bank.decide(debit);
  await tell(company, debit.order_no);
}

async function tell(company: SimCompany, order_no: string): Promise<void> {
  const debit = company.bank.sent.get(order_no);
  if (!debit) return;
  const { says } = debit;
  const result = company.bank.resultOf(debit);
  debit.is_unconfirmed = true;
  await company.deps.store.tx(async (q) => {
    const order = await findOrderByNumber(q, order_no);
    if (!order) throw new Error(`${order_no} was sent, and is not on record`);
    const tx = { q, scope: { company_id: company.company_id }, now: company.clock.now() };
    await applyPaymentResults(tx, [{ order, result }]);
    debit.heard = says;
  });
  // What overtook newer words, or was overtaken by older ones, is said again.
  debit.is_unconfirmed = debit.heard !== debit.says;
}

function job(company: SimCompany, name: string): Promise<unknown> {
  const found = JOBS.find((one) => one.name === name);
  if (!found?.run) throw new Error(`There is no job ${name} of a company`);
  return found.run(company.context());
}

const EACH_TIME = ["billing_model_changes", "billing_run", "collections", "mandate_orders"];

/** Users, the bank and jobs at work at once; the process may die amid it, and the clock may jump. */
async function moment(company: SimCompany): Promise<void> {
  const { turns, roll, log } = company;
  const at = company.clock.now().toString();
  const names = Array.from({ length: roll(4) }, () => pick(roll, DECK));
  const jobs = EACH_TIME.filter(() => roll(3) > 0);
  if (roll(6) === 0) jobs.push("billing_recheck");
  log.push(`${at} ${[...names, ...jobs].join(" ")}`);
  const { process } = company;
  const work = [
    ...names.map(
      (name) => () => ACTIONS[name]?.(company, pick(roll, company.subscriptions)) ?? Promise.resolve(),
    ),
    ...jobs.map((name) => () => job(company, name)),
  ].map((one) => turns.run(process, one));
  const failures: unknown[] = [];
  for (const one of work) one.catch((error) => failures.push(error));
  const ended = await turns.drive(work, () => {
    company.latest_ms = Math.max(company.latest_ms, company.clock.now_ms);
    if (roll(JUMPS) === 0) {
      const by_ms = pick(roll, [-2 * HOUR_MS, -60_000, HOUR_MS, 3 * DAY_MS]);
      log.push(`  the clock jumps by ${by_ms / 60_000} min`);
      company.clock.move(by_ms);
    }
    return roll(DEATHS) === 0;
  });
  if (!ended) {
    log.push("  the process dies");
    turns.kill(process);
    company.startProcess();
    await calmly(company, [
      () => call(company.context(), interruptRuns, {}),
      () => call(company.context(), interruptCollections, {}),
    ]);
  }
  if (failures.length > 0) throw failures[0];
}

/** Does work to its end, one after the other, without deaths and jumps. */
async function calmly(company: SimCompany, steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const step of steps) {
    const work = company.turns.run(company.process, step);
    const failures: unknown[] = [];
    work.catch((error) => failures.push(error));
    await company.turns.drive([work], () => false);
    if (failures.length > 0) throw failures[0];
  }
}

function resume(company: SimCompany, id: number): Promise<unknown> {
  return refusedOr(call(company.context(), resumeMandate, { id, reason: "sim" }));
}

/** The end of a day: the bank has told all that it says, and every job has run to its end. */
async function endDay(company: SimCompany): Promise<void> {
  company.latest_ms = Math.max(company.latest_ms, company.clock.now_ms);
  const said = [...company.bank.sent.values()].filter(({ says }) => says !== undefined);
  const told = said.filter((debit, i) => debit.is_unconfirmed || i >= said.length - 20);
  await calmly(company, [
    ...told.map(
      ({ order_no }) =>
        () =>
          tell(company, order_no),
    ),
    ...[...EACH_TIME, "billing_recheck"].map((name) => () => job(company, name)),
  ]);
  // Most customers settle what failed: else all mandates would rest for good.
  const resting = (await mandateRows(company)).filter(({ status }) => status === "suspended");
  for (const { id } of resting) if (company.roll(2) === 0) await calmly(company, [() => resume(company, id)]);
  if (resting.length > 0) await calmly(company, [() => job(company, "collections")]);
  await checkBills(company);
  await checkDebits(company);
}

/** Lives through so many days. Errors: throws what does not hold, with all that was done. */
export async function liveThrough(company: SimCompany, days: number): Promise<void> {
  const { turns, roll, clock, log } = company;
  const sleep = spyOn(Bun, "sleep").mockImplementation(() => turns.pass(async () => undefined));
  const giveBack = company.bank.replaceSandbox(turns);
  try {
    const until_ms = clock.now_ms + days * DAY_MS;
    while (clock.now_ms < until_ms) {
      for (let i = 1 + roll(2); i > 0; i--) {
        clock.move(roll(14) * HOUR_MS + roll(HOUR_MS));
        await moment(company);
      }
      // Now and then nobody is there for weeks.
      clock.move((roll(60) === 0 ? roll(40) : 0) * DAY_MS + roll(12 * HOUR_MS));
      log.push(`${clock.now().toString()} the day ends`);
      await endDay(company);
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`${message}\n${log.slice(-60).join("\n")}`, { cause: error });
  } finally {
    giveBack();
    sleep.mockRestore();
  }
}
