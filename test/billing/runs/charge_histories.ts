import { and, asc, eq, gt } from "drizzle-orm";
import { call } from "../../../src/app/operation.ts";
import {
  createBillingModelChange,
  listBillingModelChanges,
  voidBillingModelChange,
} from "../../../src/billing/billing_model_changes/service.ts";
import { createClient } from "../../../src/billing/clients/service.ts";
import { createProduct } from "../../../src/billing/products/service.ts";
import { proveBills } from "../../../src/billing/proof/service.ts";
import { verifyBillingRecord } from "../../../src/billing/records/service.ts";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import { previewSubscription, recheckBilling, runBilling } from "../../../src/billing/runs/service.ts";
import { carryOnSimulations } from "../../../src/billing/simulations/run.ts";
import { createSimulation, getSimulation } from "../../../src/billing/simulations/service.ts";
import { cancelSubscription, createSubscription } from "../../../src/billing/subscriptions/service.ts";
import { AppError } from "../../../src/core/errors.ts";
import { compare, currencyDigits, sum } from "../../../src/core/money.ts";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import { type Facts, type Month, monthsOf, slicesOf } from "../../sim/bill_model.ts";
import { type Dice, dice, pick } from "../../support/dice.ts";
import { runNamedJob } from "../../support/jobs.ts";
import type { ModelEvent } from "../../usage_store/reference_model.ts";
import type { BillingFixture, Company } from "../fixtures.ts";
import { linesOfMonth, type ModelLine } from "../rating/charge_model.ts";
import { yearAround, yearLines } from "../rating/year_model.ts";
import { randomEvent } from "../rating/random_plans.ts";
import type { SoldPlan } from "../rating/sold_plans.ts";
import {
  checkRecord,
  checkUnmetered,
  compareLines,
  missingLines,
  readLine,
  type StoredRecord,
} from "./check_records.ts";
import { countOf, monthFrom, outsideOf } from "./count_by_model.ts";
import { MONTHS, monthsUntil, type Pace } from "./pace.ts";
import { sellPlans } from "./sell_plans.ts";

// Random histories of subscriptions with charges, lived through the real operations, and each of their bills worked
// out again by the model as soon as it is written.

const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kuala_Lumpur", "Pacific/Kiritimati"];
const CURRENCIES = ["EUR", "EUR", "JPY", "BHD"];
const BEGINNING_MS = Date.parse("2024-01-20T00:00:00Z");
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const METERS = 4;
const PLANS = 4;

/** A subscription, and what the model knows of it. */
interface Lived {
  readonly id: number;
  readonly first_plan: SoldPlan;
  facts: Facts<SoldPlan>;
  readonly events: ModelEvent[];
  /** Its records by the start of their period, first to last. */
  readonly records: Map<number, StoredRecord[]>;
  has_scheduled: boolean;
}

export class ChargeHistories {
  readonly #billing: BillingFixture;
  readonly #roll: Dice;
  readonly #seed: number;
  readonly #pace: Pace;
  #plans: ReadonlyMap<number, SoldPlan> = new Map();
  readonly #lives: Lived[] = [];
  /** What was lived through. */
  readonly counts = { subscriptions: 0, plans: 0, events: 0, changes: 0, records: 0, previews: 0 };
  #company_id = 0;
  #digits = 2;
  #last_record_id = 0;

  constructor(billing: BillingFixture, seed: number, pace: Pace = MONTHS) {
    this.#billing = billing;
    this.#pace = pace;
    this.#seed = seed;
    this.#roll = dice(seed);
  }

  /** Lives through the histories of so many subscriptions of a new company. Errors: where a bill is not the model's. */
  async live(subscriptions: number): Promise<void> {
    try {
      await this.#begin(subscriptions);
      for (let step = 1; step <= this.#pace.steps; step++) await this.#step(step);
      await this.#end();
    } catch (cause) {
      throw new Error(`The histories of seed ${this.#seed} do not hold`, { cause });
    }
  }

  get #now_ms(): number {
    return this.#billing.clock.now().epochMilliseconds;
  }

  #setClock(ms: number): void {
    this.#billing.clock.set(isoOf(ms));
  }

  #context() {
    const actor = { kind: "system", company_id: this.#company_id } as const;
    const { deps } = this.#billing.service;
    return deps.openContext({ actor, origin: "job", request_id: "test", address: null });
  }

  async #begin(subscriptions: number): Promise<void> {
    const roll = this.#roll;
    this.#setClock(BEGINNING_MS);
    const [timezone, currency] = [pick(roll, ZONES), pick(roll, CURRENCIES)];
    const company: Company = await this.#billing.addCompany({ timezone, currency });
    this.#company_id = company.company_id;
    this.#digits = currencyDigits(currency);
    const sold = { currency, meters: METERS, plans: PLANS, yearly: this.#pace.yearly };
    this.#plans = await sellPlans(() => this.#context(), roll, sold);
    const { id: product_id } = await call(this.#context(), createProduct, { name: "Sold" });
    const { id: client_id } = await call(this.#context(), createClient, { name: "Buyer" });
    for (let i = 0; i < subscriptions; i++)
      this.#lives.push(await this.#subscribe({ product_id, client_id }, timezone, i));
    this.counts.plans = this.#plans.size;
    this.counts.subscriptions = subscriptions;
  }

  async #subscribe(of: { product_id: number; client_id: number }, zone: string, i: number): Promise<Lived> {
    const roll = this.#roll;
    const first_plan = pick(roll, [...this.#plans.values()]);
    const anchor_day = pick(roll, [1, 1, 15, 28, 31]);
    const started_ms = BEGINNING_MS + (roll(60 * 24 * 40) - 60 * 24 * 25) * 60_000;
    const { id } = await call(this.#context(), createSubscription, {
      ...of,
      name: `Subscription ${i}`,
      external_subscription_id: `s${i}`,
      billing_model_id: first_plan.id,
      started_at: isoOf(started_ms),
      billing_anchor_day: anchor_day,
    });
    const timeline = [{ plan: first_plan, from_ms: started_ms }];
    const facts = { zone, anchor_day, started_ms, ends_ms: null, timeline };
    return { id, first_plan, facts, events: [], records: new Map(), has_scheduled: false };
  }

  async #step(step: number): Promise<void> {
    const roll = this.#roll;
    const days = step * this.#pace.step_days;
    this.#setClock(BEGINNING_MS + days * DAY_MS + roll(10 * 24 * 60) * 60_000 + roll(1_000));
    await this.#applyDue();
    await this.#send();
    for (const lived of this.#lives) {
      if (roll(12) === 0) await this.#change(lived);
      if (roll(30) === 0) await this.#void(lived);
      if (roll(60) === 0) await this.#cancel(lived);
    }
    await this.#checkNewRecords();
    for (const lived of this.#lives) if (roll(25) === 0) await this.#preview(lived);
    await this.#run(roll(4));
    await this.#checkNewRecords();
  }

  async #run(kind: number): Promise<void> {
    if (kind === 3) await call(this.#context(), recheckBilling, {});
    else if (kind === 2) await this.#bill({ period: isoOf(this.#now_ms - 35 * DAY_MS).slice(0, 7) });
    else await this.#bill({});
  }

  async #bill(input: { period?: string }): Promise<number> {
    const { counts, errors } = await call(this.#context(), runBilling, input);
    if (counts.failed > 0) throw new Error(`A run failed: ${JSON.stringify(errors)}`);
    return counts.periods + counts.adjustments;
  }

  async #applyDue(): Promise<void> {
    await runNamedJob(this.#billing.service, "billing_model_changes");
    for (const lived of this.#lives.filter(({ has_scheduled }) => has_scheduled))
      await this.#readTimeline(lived);
    await this.#checkNewRecords();
  }

  /** Stores events of half of the subscriptions: of these days, or late. */
  async #send(): Promise<void> {
    const roll = this.#roll;
    const sent: ModelEvent[] = [];
    for (const { id, facts, events } of this.#lives) {
      const until = Math.min(this.#now_ms, facts.ends_ms ?? this.#now_ms);
      for (let n = roll(2) * roll(9); n > 0; n--) {
        const days = roll(5) === 0 ? this.#pace.late_days : this.#pace.step_days + 2;
        const from = Math.max(facts.started_ms, this.#now_ms - days * DAY_MS);
        if (from >= until) break;
        const event = randomEvent(roll, id, from + roll(until - from));
        events.push(event);
        sent.push(event);
      }
    }
    this.counts.events += sent.length;
    const stored = sent.map(({ id, subscription_id, timestamp, usage, object }) => ({
      id,
      subscription_id,
      timestamp,
      usage,
      timestamp_given: true,
      metadata: object === null ? null : canonicalJson(object),
    }));
    const { usage } = this.#billing.service.deps;
    if (stored.length > 0) await usage.append(this.#company_id, stored, this.#now_ms);
  }

  async #change(lived: Lived): Promise<void> {
    const roll = this.#roll;
    const to = pick(roll, [...this.#plans.keys()]);
    const hours = roll(60 * 24) - 40 * 24;
    // Often twice on a day: then a plan owns none.
    const at_ms = this.#now_ms + hours * HOUR_MS + roll(60) * 60_000;
    await this.#ask(lived, to, at_ms);
    const back = pick(roll, [to, lived.first_plan.id, pick(roll, [...this.#plans.keys()])]);
    if (roll(3) === 0) await this.#ask(lived, back, at_ms + 1 + roll(5 * HOUR_MS));
  }

  async #ask(lived: Lived, new_billing_model_id: number, at_ms: number): Promise<void> {
    const input = { id: lived.id, new_billing_model_id, effective_at: isoOf(at_ms) };
    if (!(await doneOrNull(call(this.#context(), createBillingModelChange, input)))) return;
    this.counts.changes += 1;
    await this.#readTimeline(lived);
    // A change in the past adjusts closed periods at once.
    await this.#checkNewRecords();
  }

  /** Takes a change back, whichever. */
  async #void(lived: Lived): Promise<void> {
    const { id } = lived;
    const { data } = await call(this.#context(), listBillingModelChanges, { id });
    const applied = data.filter(({ status }) => status === "applied");
    if (applied.length === 0) return;
    await call(this.#context(), voidBillingModelChange, { id, changeId: pick(this.#roll, applied).id });
    await this.#readTimeline(lived);
    await this.#checkNewRecords();
  }

  async #cancel(lived: Lived): Promise<void> {
    const at = pick(this.#roll, ["now", "period_end"] as const);
    const cancelled = await doneOrNull(call(this.#context(), cancelSubscription, { id: lived.id, at }));
    const ends_at = cancelled?.ends_at ?? null;
    if (ends_at !== null) lived.facts = { ...lived.facts, ends_ms: Date.parse(ends_at) };
  }

  async #readTimeline(lived: Lived): Promise<void> {
    const { data } = await call(this.#context(), listBillingModelChanges, { id: lived.id });
    const applied = data
      .filter(({ status }) => status === "applied")
      .map(({ new_billing_model_id, effective_at }) => ({
        plan: this.#planOf(new_billing_model_id),
        from_ms: Date.parse(effective_at),
      }));
    lived.has_scheduled = data.some(({ status }) => status === "scheduled");
    const first = { plan: lived.first_plan, from_ms: lived.facts.started_ms };
    const timeline = [first, ...applied.toSorted((a, b) => a.from_ms - b.from_ms)];
    lived.facts = { ...lived.facts, timeline };
  }

  #planOf(id: number): SoldPlan {
    const plan = this.#plans.get(id);
    if (!plan) throw new Error(`There is no plan ${id}`);
    return plan;
  }

  #expected({ facts, events, records }: Lived, month: Month): ModelLine[] {
    const own = linesOfMonth(facts, month, this.#digits, countOf(facts, month, events));
    const year = yearAround(facts, month);
    const { ends_ms } = facts;
    const last = year.findLast(({ from_ms }) => ends_ms === null || from_ms < ends_ms);
    const others = year.flatMap(({ from_ms }) =>
      from_ms === month.from_ms ? [] : (records.get(from_ms) ?? []),
    );
    const elsewhere = others.flatMap(({ lines }) => lines.map((line) => readLine(line, this.#digits)));
    const is_over = last !== undefined && (last.from_ms === month.from_ms || records.has(last.from_ms));
    return [...own, ...yearLines(facts, year, { own, elsewhere, is_over }, this.#digits)];
  }

  /** The bill of the running period is what the model says of it so far. */
  async #preview(lived: Lived): Promise<void> {
    const { from, lines, unmetered } = await call(this.#context(), previewSubscription, { id: lived.id });
    const of = `the preview of subscription ${lived.id} from ${from}`;
    const month = monthFrom(lived.facts, Date.parse(from), of);
    compareLines(lines, this.#expected(lived, month), this.#digits, of);
    checkUnmetered(unmetered, outsideOf(lived.facts, month, lived.events), of);
    this.counts.previews += 1;
  }

  /** Each new record adds to those before it what the model says was missing. */
  async #checkNewRecords(): Promise<void> {
    const { read } = this.#billing.service.deps.store;
    const t = read.use(billingRecordTable);
    const rows = await read
      .select()
      .from(t)
      .where(and(eq(t.company_id, this.#company_id), gt(t.id, this.#last_record_id)))
      .orderBy(asc(t.id));
    const lives = new Map(this.#lives.map((lived) => [lived.id, lived]));
    for (const row of rows) {
      const lived = lives.get(row.subscription_id);
      if (!lived)
        throw new Error(`Record ${row.id} is of subscription ${row.subscription_id}, which is none`);
      const of = `subscription ${lived.id}, period from ${row.billingStartAt}`;
      const month = monthFrom(lived.facts, Date.parse(row.billingStartAt), of);
      const before = lived.records.get(month.from_ms) ?? [];
      const plan_id = slicesOf(lived.facts, month).at(-1)?.plan.id ?? 0;
      checkRecord(row, before, { lines: this.#expected(lived, month), plan_id, digits: this.#digits, of });
      checkUnmetered(row.unmetered, outsideOf(lived.facts, month, lived.events), of);
      lived.records.set(month.from_ms, [...before, row]);
      this.#last_record_id = row.id;
      this.counts.records += 1;
    }
  }

  /** Bills everything that is due, and finds every period complete and every bill proved. */
  async #end(): Promise<void> {
    this.#setClock(this.#now_ms + 3 * DAY_MS);
    await this.#applyDue();
    await this.#bill({});
    for (const period of monthsUntil(this.#now_ms)) await this.#bill({ period });
    await this.#checkNewRecords();
    for (const lived of this.#lives) this.#checkComplete(lived);
    const again = await this.#bill({ period: pick(this.#roll, monthsUntil(this.#now_ms)) });
    if (again > 0) throw new Error(`${again} records were written where nothing is missing`);
    await this.#prove();
    await this.#simulate();
  }

  /** Whatever plan is tried on all of it, the plans that were in force come to what was billed. */
  async #simulate(): Promise<void> {
    const billing_model_id = pick(this.#roll, [...this.#plans.keys()]);
    const months = monthsUntil(this.#now_ms);
    const [from = "", to = ""] = [months[0], months.at(-1)];
    const { id } = await call(this.#context(), createSimulation, { billing_model_id, from, to });
    let tried = await call(this.#context(), getSimulation, { id });
    while (tried.status === "running") {
      await call(this.#context(), carryOnSimulations, {});
      tried = await call(this.#context(), getSimulation, { id });
    }
    const { status, counts, error, mismatches, totals } = tried;
    if (status !== "finished" || !tried.reproduces)
      throw new Error(`Bills are not reproduced: ${JSON.stringify({ status, error, counts, mismatches })}`);
    const records = this.#lives.flatMap((lived) => [...lived.records.values()].flat());
    const billed = sum(records.map(({ totalCharges }) => totalCharges));
    if (counts.failed + counts.other_currency === 0 && compare(totals.billed, billed) !== 0)
      throw new Error(`A simulation is of ${totals.billed}, and ${billed} was billed`);
  }

  #checkComplete(lived: Lived): void {
    const { facts, records } = lived;
    for (const month of monthsOf(facts, this.#now_ms)) {
      const of = `subscription ${lived.id}, period from ${isoOf(month.from_ms)}`;
      const ended_ms = Math.min(month.to_ms, facts.ends_ms ?? month.to_ms);
      const recorded = records.get(month.from_ms);
      if (!recorded && ended_ms + HOUR_MS <= this.#now_ms)
        throw new Error(`${of}: it is due, and was not billed`);
      const missing = recorded ? missingLines(this.#expected(lived, month), recorded, this.#digits) : [];
      if (missing.length > 0) throw new Error(`${of}: ${missing.length} lines are missing on record`);
    }
  }

  async #prove(): Promise<void> {
    for (const { records } of this.#lives.filter(() => this.#roll(20) === 0)) {
      for (const { id } of [...records.values()].flat()) {
        const { matches, differences } = await call(this.#context(), verifyBillingRecord, { id });
        if (!matches) throw new Error(`Record ${id} is not verified: ${JSON.stringify(differences)}`);
      }
    }
    const { deps } = this.#billing.service;
    const caller = { actor: { kind: "operator" }, origin: "cli", request_id: "test", address: null } as const;
    const input = { company_id: this.#company_id };
    const { bills, unproved } = await call(deps.openContext(caller), proveBills, input);
    if (bills !== this.counts.records)
      throw new Error(`${bills} bills were proved of ${this.counts.records}`);
    if (unproved.length > 0) throw new Error(`Bills are not proved: ${JSON.stringify(unproved.slice(0, 3))}`);
  }
}

const isoOf = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toString();

/** What was done, or null where it was refused. */
async function doneOrNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
