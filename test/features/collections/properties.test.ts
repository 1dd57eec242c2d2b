import { afterAll, beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { eq } from "drizzle-orm";
import { startOfDay } from "../../../src/core/kuala_lumpur.ts";
import { iso } from "../../../src/core/time.ts";
import type { CollectionRun } from "../../../src/features/collections/model.ts";
import { insertRun, interruptRuns } from "../../../src/features/collections/queries.ts";
import { runToEnd } from "../../../src/features/collections/runs.ts";
import { DEFAULTS } from "../../../src/features/emandate_config/rules.ts";
import { applyPaymentResults } from "../../../src/features/mandate_payments/outcomes.ts";
import type { PaymentStatus } from "../../../src/features/mandate_payments/model.ts";
import { insertPayments } from "../../../src/features/mandate_payments/queries.ts";
import { dueAt } from "../../../src/features/mandate_payments/rules.ts";
import type { MandateFlag } from "../../../src/features/mandate_flags/model.ts";
import { listFlags } from "../../../src/features/mandate_flags/queries.ts";
import { moveMandate } from "../../../src/features/mandates/moves.ts";
import { findStoredMandate } from "../../../src/features/mandates/queries.ts";
import { only } from "../../../src/store/rows.ts";
import type { Store } from "../../../src/store/store.ts";
import { type House, startHouse, TestClock } from "../../harness.ts";
import { propertyCases } from "../../properties.ts";
import { insertMandates } from "../mandate_payments/world.ts";
import { dying, isCollectionDay, samePeriod, slowed } from "./oracle.ts";
import { mandates, type Step, steps } from "./histories.ts";
import { RecordingScheme } from "./scheme.ts";

// Random histories of mandates, runs, crashes and answers, held against a scheme that remembers what it was sent
// and a calendar that is counted day by day.

const clock = new TestClock("2026-01-01T00:00:00Z");
let house: House;

beforeAll(async () => {
  house = await startHouse({ clock });
});
afterAll(() => house.stop());

const FIRST_DAY = Temporal.PlainDate.from("2026-01-20");

const amount = (sen: number) => (sen / 100).toFixed(2);

/** How the order of a payment that counts stands in each of its states. */
const ORDERS_OF: Record<PaymentStatus, string[]> = {
  scheduled: ["none"],
  submitted: ["submitted", "pending"],
  paid: ["succeeded"],
  failed: ["failed"],
  retry_scheduled: ["failed"],
  charged_back: ["failed"],
  cancelled: ["none", "failed"],
  skipped: ["none"],
};

/** One company's history. */
class History {
  readonly scheme: RecordingScheme;
  readonly scope: { company_id: number };
  today = FIRST_DAY;
  last_day = FIRST_DAY;

  constructor(company_id: number, seed: number) {
    this.scope = { company_id };
    this.scheme = new RecordingScheme(seed, FIRST_DAY);
  }

  get now(): Temporal.Instant {
    return startOfDay(this.today).add({ hours: 9 });
  }

  async begin(): Promise<CollectionRun> {
    const { store } = house.deps;
    return store.tx(async (q) => {
      // Whoever began the one before is dead.
      await interruptRuns(q, this.scope, this.now);
      const counts = { due: 0, scheduled: 0, skipped: 0, submitted: 0, refused: 0 };
      const row = {
        connector: "sandbox" as const,
        date: this.today.toString(),
        requested_by: null,
        counts,
        error: null,
      };
      return insertRun(q, this.scope, this.now, row);
    });
  }

  async run(store: Store, run: CollectionRun): Promise<CollectionRun> {
    const { log, background } = house.deps;
    const ctx = { store, log, background, now: this.now, request_id: "test" };
    return runToEnd({
      ctx,
      scope: this.scope,
      run,
      until: this.today,
      today: this.today,
      connects: ["sandbox"],
      connectors: new Map([["sandbox", this.scheme.connector]]),
      collects: true,
    });
  }

  async orders() {
    const { read } = house.deps.store;
    const { mandate_orders: t } = read.tables;
    return read.select().from(t).where(eq(t.company_id, this.scope.company_id)).orderBy(t.id);
  }

  async payments() {
    const { read } = house.deps.store;
    const { mandate_payments: t } = read.tables;
    return read.select().from(t).where(eq(t.company_id, this.scope.company_id)).orderBy(t.id);
  }

  async mandates() {
    const { read } = house.deps.store;
    const { mandates: t } = read.tables;
    return read.select().from(t).where(eq(t.company_id, this.scope.company_id)).orderBy(t.id);
  }

  /** The flags that a person would see, by the orders that they are about. */
  async flags(): Promise<Map<string, MandateFlag>> {
    const { rows } = await listFlags(house.deps.store.read, this.scope, {}, { limit: 1_000, offset: 0 });
    return new Map(rows.map((flag) => [flag.order_no, flag]));
  }

  /** What must hold at the moment at which the scheme gets an order. */
  watch(
    known: Map<string, Awaited<ReturnType<History["mandates"]>>[number]>,
    flags: Awaited<ReturnType<History["flags"]>>,
  ): void {
    this.scheme.onSent = (order) => {
      expect(this.scheme.has(order.order_no)).toBe(false);
      const mandate = known.get(order.mandate.reference);
      if (!mandate) throw new Error("An order of no mandate");
      expect(Number(order.amount)).toBeLessThanOrEqual(Number(mandate.max_amount));
      if (mandate.expiry_date !== null) expect(this.today.toString() <= mandate.expiry_date).toBe(true);
      const others = this.scheme.sent.filter(
        (one) =>
          one.order.mandate.reference === mandate.reference &&
          samePeriod(mandate.frequency, one.day, this.today) &&
          !this.scheme.failed.has(one.order.order_no) &&
          !flags.has(one.order.order_no),
      );
      expect(others.length).toBeLessThan(Number(mandate.max_no_debit));
      // A payment is tried again only after it was told that the attempt before it failed.
      const [, payment = "", attempt = ""] = /^D(\d+)-(\d+)$/.exec(order.order_no) ?? [];
      for (let before = 1; before < Number(attempt); before++) {
        expect(this.scheme.failed.has(`D${payment}-${before}`)).toBe(true);
      }
    };
  }

  async take(step: Step): Promise<void> {
    const { store } = house.deps;
    const all = await this.mandates();
    const picked = "pick" in step ? all[step.pick % all.length] : undefined;
    // In force when a run begins is in force while it sends: nothing else happens meanwhile.
    const active = all.filter(({ status }) => status === "active");
    this.watch(new Map(active.map((one) => [one.reference, one])), await this.flags());
    if (step.do === "days") {
      this.today = this.today.add({ days: step.days });
      if (Temporal.PlainDate.compare(this.today, this.last_day) > 0) this.last_day = this.today;
      this.scheme.today = this.today;
    } else if (step.do === "run") {
      const run = await this.begin();
      const is_store = step.crash === "store";
      this.scheme.fault = step.crash === "store" ? "none" : step.crash;
      const told = await this.run(is_store ? dying(store, step.after, step.after % 2 === 0) : store, run);
      if (!is_store) expect([told.status, told.error]).toEqual(["finished", null]);
      this.scheme.fault = "none";
    } else if (step.do === "run twice") {
      const run = await this.begin();
      const slow = slowed(store);
      await Promise.all([this.run(slow, run), this.run(slow, run), this.run(slow, run)]);
    } else if (step.do === "tell") {
      await this.tell(step.pick, step.replay);
    } else if (step.do === "correct") {
      const orders = await this.orders();
      const order = orders[step.pick % Math.max(1, orders.length)];
      // What was answered, and now is answered otherwise.
      if (order?.response_code && this.scheme.has(order.order_no)) {
        this.scheme.correct(order.order_no, step.says);
        await this.tell(step.pick, false);
      }
    } else if (step.do === "tell all") {
      const orders = await this.orders();
      for (const [pick, { status }] of orders.entries()) {
        // What has not been told yet, or all of it once more.
        if (step.replay || status === "submitted") await this.tell(pick, step.replay);
      }
    } else if (step.do === "debit" && picked) {
      const due = this.today.add({ days: step.due_in });
      const day = Temporal.PlainDate.compare(due, this.today) > 0 ? due : this.today;
      const by_hand = { period_key: null, description: null, status: "scheduled" as const };
      const days = { due_date: due.toString(), debit_date: day.toString(), next_attempt_at: dueAt(due) };
      const { id: mandate_id, frequency } = picked;
      const payment = { mandate_id, frequency, amount: amount(step.sen), ...by_hand, ...days };
      await store.tx((q) => insertPayments(q, this.scope, this.now, [payment]));
    } else if (step.do === "move" && picked) {
      await store.tx(async (q) => {
        const stored = await findStoredMandate(q, this.scope, picked.id);
        const from = step.trigger === "resume" ? "suspended" : "active";
        if (stored?.status === from) await moveMandate(q, this.scope, this.now, stored, step.trigger);
      });
    } else if (step.do === "limit" && picked) {
      await store.tx(async (q) => {
        const { mandates: t } = q.tables;
        await q
          .update(t)
          .set({ max_amount: amount(step.sen) })
          .where(eq(t.id, picked.id));
      });
    }
  }

  /** The scheme says of an order how it stands, when it likes, or says again what it said. */
  async tell(pick: number, replay: boolean): Promise<void> {
    const orders = await this.orders();
    const order = orders[pick % Math.max(1, orders.length)];
    if (!order) return;
    const status = replay ? "submitted" : order.status;
    const result = this.scheme.resultFor({ ...order, status });
    await house.deps.store.tx((q) => applyPaymentResults(q, this.scope, this.now, [{ order, result }]));
  }

  /** What must hold of the records, whatever happened. */
  async check(): Promise<void> {
    expect(this.scheme.violations).toEqual([]);
    const [all, payments, orders] = [await this.mandates(), await this.payments(), await this.orders()];
    const flags = await this.flags();
    const numbers = new Set(orders.map(({ order_no }) => order_no));
    expect(numbers.size).toBe(orders.length);
    for (const { order } of this.scheme.sent) expect(numbers.has(order.order_no)).toBe(true);
    for (const payment of payments) {
      const own = orders.filter(({ payment_id }) => payment_id === payment.id);
      expect(own.map(({ attempt_no }) => attempt_no)).toEqual(own.map((_, i) => i + 1));
      expect(payment.attempt_count).toBe(own.length);
      const counting = own.find(({ order_no }) => order_no === payment.order_no);
      // Of other attempts that did not fail a person was told.
      const others = own.filter((order) => order !== counting && order.status !== "failed");
      if (others.length > 0) expect(own.some(({ order_no }) => flags.has(order_no))).toBe(true);
      expect([payment.status, ORDERS_OF[payment.status]]).toEqual([
        payment.status,
        expect.arrayContaining([counting?.status ?? "none"]),
      ]);
      if (payment.status === "paid") expect(this.scheme.has(counting?.order_no ?? "")).toBe(true);
    }
    for (const mandate of all) this.#checkSuccesses(mandate, flags);
    for (const mandate of all) {
      const first = Temporal.PlainDate.from(mandate.anchor_date ?? "");
      const collected = payments.filter(
        ({ mandate_id, period_key }) => mandate_id === mandate.id && period_key !== null,
      );
      for (const { due_date } of collected) {
        const due = Temporal.PlainDate.from(due_date);
        expect([due_date, isCollectionDay(mandate.frequency, first, due)]).toEqual([due_date, true]);
        if (mandate.expiry_date !== null) expect(due_date <= mandate.expiry_date).toBe(true);
      }
      expect(new Set(collected.map(({ due_date }) => due_date)).size).toBe(collected.length);
    }
  }

  /** Of more debits that the bank says were paid in a period than the mandate allows, a person was told. */
  #checkSuccesses(
    { reference, frequency, max_no_debit }: Awaited<ReturnType<History["mandates"]>>[number],
    flags: Awaited<ReturnType<History["flags"]>>,
  ): void {
    const paid = this.scheme.sent.filter(
      ({ order }) => order.mandate.reference === reference && this.scheme.paid.has(order.order_no),
    );
    for (const { day } of paid) {
      const same = paid.filter((other) => samePeriod(frequency, day, other.day));
      if (same.length <= Number(max_no_debit)) continue;
      expect(same.some(({ order }) => flags.has(order.order_no))).toBe(true);
    }
  }

  /** In the end, nothing dies any more: every day of collection of a mandate in force has its payment. */
  async settle(): Promise<void> {
    this.today = this.last_day.add({ days: 1 });
    this.last_day = this.today;
    this.scheme.today = this.today;
    for (const { id, status } of await this.mandates()) {
      if (status !== "suspended") continue;
      await house.deps.store.tx(async (q) => {
        const stored = await findStoredMandate(q, this.scope, id);
        if (stored?.status === "suspended") await moveMandate(q, this.scope, this.now, stored, "resume");
      });
    }
    await this.take({ do: "run", crash: "none", after: 0 });
    const payments = await this.payments();
    const due = payments.filter(
      ({ next_attempt_at }) => next_attempt_at !== null && next_attempt_at <= iso(this.now),
    );
    const in_force = new Set(
      (await this.mandates()).flatMap((one) => (one.status === "active" ? one.id : [])),
    );
    expect(due.filter(({ mandate_id }) => in_force.has(mandate_id))).toEqual([]);
    for (const mandate of (await this.mandates()).filter(({ status }) => status === "active")) {
      const first = Temporal.PlainDate.from(mandate.anchor_date ?? "");
      const days: string[] = [];
      for (let day = first; Temporal.PlainDate.compare(day, this.today) <= 0; day = day.add({ days: 1 })) {
        if (mandate.expiry_date !== null && day.toString() > mandate.expiry_date) break;
        if (isCollectionDay(mandate.frequency, first, day)) days.push(day.toString());
      }
      const collected = payments.filter((one) => one.mandate_id === mandate.id && one.period_key !== null);
      expect(collected.map(({ due_date }) => due_date).toSorted()).toEqual(days);
    }
  }
}

test("whatever happens when, no debit is sent or paid twice, beyond its mandate, or after its end, but flagged, and none is lost", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(mandates, { minLength: 1, maxLength: 4 }),
      fc.array(steps, { minLength: 3, maxLength: 25 }),
      fc.nat(),
      fc.integer({ min: 1, max: 3 }),
      async (made, taken, seed, suspend_after_failures) => {
        const { store } = house.deps;
        const company_id = await store.tx(async (q) => {
          const { companies, emandate_configs } = q.tables;
          const stamps = { created_at: iso(clock.now()), updated_at: iso(clock.now()) };
          const rows = await q
            .insert(companies)
            .values({ name: "Acme", timezone: "UTC", currency: "MYR", ...stamps })
            .returning({ id: companies.id });
          const { id } = only(rows);
          await q
            .insert(emandate_configs)
            .values({ ...DEFAULTS, suspend_after_failures, company_id: id, ...stamps });
          await insertMandates(
            q,
            id,
            clock.now(),
            made.map(({ frequency, starts_in, ends_in, sen, max_no_debit }) => {
              const first = FIRST_DAY.add({ days: starts_in });
              return {
                frequency,
                max_no_debit,
                anchor_date: first.toString(),
                next_collection_at: dueAt(first),
                bankscheme_txn_amount: amount(sen),
                max_amount: amount(Math.max(sen, 10_000)),
                expiry_date: ends_in === null ? null : first.add({ days: ends_in }).toString(),
              };
            }),
          );
          return id;
        });
        const history = new History(company_id, seed);
        for (const step of taken) {
          await history.take(step);
          await history.check();
        }
        await history.settle();
        await history.check();
      },
    ),
    propertyCases(40),
  );
}, 3_600_000);
