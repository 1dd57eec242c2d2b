import type { Deps } from "../../src/app/deps.ts";
import { call } from "../../src/app/operation.ts";
import { AppError } from "../../src/core/errors.ts";
import {
  createBillingModelChange,
  listBillingModelChanges,
} from "../../src/billing/billing_model_changes/service.ts";
import { decode } from "../../src/core/validate.ts";
import { CreateBillingModel } from "../../src/billing/billing_models/model.ts";
import { createBillingModel } from "../../src/billing/billing_models/service.ts";
import { createClient } from "../../src/billing/clients/service.ts";
import { createProduct } from "../../src/billing/products/service.ts";
import { createSubscription } from "../../src/billing/subscriptions/service.ts";
import { addCompany } from "../../src/billing/companies/service.ts";
import { emandateConfigTable } from "../../src/emandate/merchant_config/tables.ts";
import { DEFAULTS } from "../../src/emandate/merchant_config/rules.ts";
import { dueAt } from "../../src/emandate/payments/rules.ts";
import { dayAt } from "../../src/emandate/working_days.ts";
import { stamped } from "../../src/store/columns.ts";
import { insertMandates } from "../emandate/payments/fixtures.ts";
import { type Dice, dice, pick } from "../support/dice.ts";
import { PASSWORD } from "../support/harness.ts";
import { Bank } from "./bank.ts";
import { checkNewDebits } from "./check_debits.ts";
import type { Facts } from "./bill_model.ts";
import type { ModelUsage } from "./model_usage.ts";
import { modelOf, PLANS } from "./plans.ts";
import { openProcess, type SimClock } from "./process.ts";
import { Process, Turns } from "./turns.ts";

const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kuala_Lumpur", "Pacific/Kiritimati"];
const ANCHORS = [1, 1, 15, 28, 29, 31];
const SUBSCRIPTIONS = 4;
const FREQUENCIES = ["Daily", "Weekly", "Weekly", "Weekly", "Monthly", "Monthly"] as const;

/** A subscription, and what the model knows of it by itself. */
export interface SimSubscription {
  id: number;
  plan: number;
  started_ms: number;
  anchor_day: number;
  /** The changes that were answered, which must never be lost. */
  answered: Set<number>;
}

/** What companies of a database share. */
export interface Deployment {
  base: Deps;
  clock: SimClock;
  usage: ModelUsage;
}

/** A company of the simulation, and the process that serves it now. */
export class SimCompany {
  readonly base: Deps;
  readonly clock: SimClock;
  readonly roll: Dice;
  readonly turns: Turns;
  readonly usage: ModelUsage;
  readonly bank: Bank;
  readonly log: string[] = [];
  readonly zone: string;
  company_id = 0;
  /** Orders up to this one were looked at when they were made. */
  checked_order_id = 0;
  /** The latest that the clock has ever shown. */
  latest_ms = 0;
  models: number[] = [];
  subscriptions: SimSubscription[] = [];
  process = new Process();
  deps: Deps;

  constructor({ base, clock, usage }: Deployment, seed: number) {
    this.base = base;
    this.clock = clock;
    this.usage = usage;
    this.roll = dice(seed);
    this.turns = new Turns(this.roll);
    this.bank = new Bank(this.roll);
    this.zone = pick(this.roll, ZONES);
    this.deps = this.#open();
  }

  /** After the death of the one before: nothing is left of what it had in memory. */
  startProcess(): void {
    this.process = new Process();
    this.deps = this.#open();
  }

  #open(): Deps {
    const { base, turns, process } = this;
    const afterCommit = () => checkNewDebits(this);
    // Whatever else is asked of it fails: it was not opened.
    const usage = { ...base.usage, ...this.usage.port };
    return openProcess({ base, turns, process, usage, afterCommit });
  }

  context(deps = this.deps) {
    const actor = { kind: "system", company_id: this.company_id } as const;
    return deps.openContext({ actor, origin: "job", request_id: "sim", address: null });
  }

  /** The records that it begins with. */
  async found(): Promise<void> {
    const { base, clock, roll } = this;
    const operator = {
      actor: { kind: "operator" },
      origin: "cli",
      request_id: "sim",
      address: null,
    } as const;
    const admin = { admin_email: `${crypto.randomUUID()}@example.com`, admin_password: PASSWORD };
    const place = { name: "Sim", timezone: this.zone, currency: "EUR" };
    const { id: company_id } = await call(base.openContext(operator), addCompany, { ...place, ...admin });
    this.company_id = company_id;
    await base.store.tx(async (q) => {
      const config = { ...DEFAULTS, suspend_after_failures: 1 + roll(3), company_id };
      await q.insert(q.use(emandateConfigTable)).values({ ...config, ...stamped(clock.now()) });
    });
    const ctx = () => this.context(base);
    const { id: client_id } = await call(ctx(), createClient, { name: "Client" });
    const { id: product_id } = await call(ctx(), createProduct, { name: "Product" });
    for (const [i, plan] of PLANS.entries()) {
      const { id } = await call(
        ctx(),
        createBillingModel,
        decode(CreateBillingModel, modelOf(plan, `Plan ${i}`)),
      );
      this.models.push(id);
    }
    for (let i = 0; i < SUBSCRIPTIONS; i++) {
      const plan = roll(PLANS.length);
      const started_ms = clock.now_ms - roll(60 * 24 * 60) * 60_000;
      const anchor_day = pick(roll, ANCHORS);
      const { id } = await call(ctx(), createSubscription, {
        name: `Subscription ${i}`,
        external_subscription_id: `sim-${i}`,
        client_id,
        product_id,
        billing_model_id: this.models[plan] ?? 0,
        started_at: new Date(started_ms).toISOString(),
        billing_anchor_day: anchor_day,
      });
      this.subscriptions.push({ id, plan, started_ms, anchor_day, answered: new Set() });
    }
    await this.#addMandates();
  }

  async #addMandates(): Promise<void> {
    const { base, clock, roll } = this;
    const today = dayAt(clock.now());
    const mandates = FREQUENCIES.map((frequency, i) => {
      const first = today.add({ days: roll(20) });
      return {
        frequency,
        max_no_debit: pick(roll, ["1", "1", "1", "2"]),
        anchor_date: first.toString(),
        next_collection_at: dueAt(first),
        bankscheme_txn_amount: `${10 + i}.50`,
        max_amount: "100.00",
      };
    });
    await base.store.tx((q) => insertMandates(q, this.company_id, clock.now(), mandates));
  }

  /** What the model bills a subscription by: its own plan, and the changes that are in force. */
  async factsOf(subscription: SimSubscription, ends_at: string | null): Promise<Facts> {
    const changes = await call(this.context(this.base), listBillingModelChanges, { id: subscription.id });
    const ids = new Set(changes.data.map(({ id }) => id));
    for (const id of subscription.answered)
      if (!ids.has(id)) throw new Error(`Change ${id} was answered, and is not there`);
    const timeline = [{ plan: planAt(subscription.plan), from_ms: subscription.started_ms }];
    for (const { status, effective_at, new_billing_model_id } of changes.data) {
      if (status !== "applied") continue;
      const plan = planAt(this.models.indexOf(new_billing_model_id));
      timeline.push({ plan, from_ms: Date.parse(effective_at) });
    }
    return {
      zone: this.zone,
      anchor_day: subscription.anchor_day,
      started_ms: subscription.started_ms,
      ends_ms: ends_at === null ? null : Date.parse(ends_at),
      timeline: timeline.toSorted((a, b) => a.from_ms - b.from_ms),
    };
  }

  /** POST /subscriptions/{id}/billing-model-changes, as a user asks for it. */
  async change(subscription: SimSubscription, plan: number, effective_at: string): Promise<void> {
    const input = { id: subscription.id, new_billing_model_id: this.models[plan] ?? 0, effective_at };
    const change = await refusedOr(call(this.context(), createBillingModelChange, input));
    if (change) subscription.answered.add(change.id);
  }
}

function planAt(i: number) {
  const plan = PLANS[i];
  if (!plan) throw new Error(`There is no plan ${i}`);
  return plan;
}

/** What was done, or null where it was refused. */
export async function refusedOr<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
