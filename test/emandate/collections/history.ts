import { expect } from "bun:test";
import { and, eq } from "drizzle-orm";
import { startOfDay } from "../../../src/emandate/working_days.ts";
import { iso } from "../../../src/core/time.ts";
import type { CollectionRun } from "../../../src/emandate/collections/model.ts";
import { insertRun, interruptRuns } from "../../../src/emandate/collections/queries.ts";
import { runToEnd } from "../../../src/emandate/collections/run.ts";
import { collectionRunTable } from "../../../src/emandate/collections/tables.ts";
import { insertOrders } from "../../../src/emandate/orders/queries.ts";
import { applyPaymentResults } from "../../../src/emandate/results/apply_to_payment.ts";
import { insertPayments } from "../../../src/emandate/payments/queries.ts";
import { dueAt } from "../../../src/emandate/payments/rules.ts";
import { sendDebits, submitPayments } from "../../../src/emandate/payments/submit.ts";
import { transitionMandate } from "../../../src/emandate/mandates/transition.ts";
import { applyMandateResult } from "../../../src/emandate/results/apply_to_mandate.ts";
import { findStoredMandate, updateMandate } from "../../../src/emandate/mandates/queries.ts";
import { isInForce } from "../../../src/emandate/mandates/rules.ts";
import { collectionLines } from "../../../src/emandate/scheme/collection_file.ts";
import { resultOf } from "../../../src/emandate/scheme/response_codes.ts";
import { mandateTable } from "../../../src/emandate/mandates/tables.ts";
import { exactlyOne } from "../../../src/store/exactly_one.ts";
import type { Queries, Store, Tx } from "../../../src/store/store.ts";
import type { Service } from "../../support/harness.ts";
import type { Step } from "./histories.ts";
import { dying, samePeriod, slowed } from "./oracle.ts";
import {
  CompanyRecords,
  daysOf,
  type Epoch,
  epochOf,
  frequencyOf,
  type MandateRow,
  ORDERS_OF,
  type PaymentRow,
} from "./company_records.ts";
import { RecordingScheme } from "./recording_scheme.ts";
import { CONNECTORS } from "../../../src/emandate/scheme/connector.ts";
import type { Frequency } from "../../../src/emandate/schedule.ts";

export const FIRST_DAY = Temporal.PlainDate.from("2026-01-20");

export const amount = (sen: number) => (sen / 100).toFixed(2);

/** One company's history. */
export class History extends CompanyRecords {
  /** What banks were given of each run, as it was then. */
  readonly #files = new Map<number, string>();
  /** What each mandate said of its collections, as its bank changed it. */
  readonly #epochs = new Map<number, Epoch[]>();
  /** Debits of which it is known that they were not too many, and who was told of what before the last step. */
  #counted = 0;
  #told: Awaited<ReturnType<CompanyRecords["flags"]>> = new Map();
  readonly scheme: RecordingScheme;
  today = FIRST_DAY;
  last_day = FIRST_DAY;

  constructor(service: Service, company_id: number, seed: number) {
    super(service, company_id);
    this.scheme = new RecordingScheme(seed, FIRST_DAY);
  }

  get now(): Temporal.Instant {
    return startOfDay(this.today).add({ hours: 9 });
  }

  tx(q: Queries): Tx {
    return { q, scope: this.scope, now: this.now };
  }

  async begin(): Promise<CollectionRun> {
    const { store } = this.service.deps;
    return store.tx(async (q) => {
      // Whoever began the one before is dead.
      await interruptRuns(this.tx(q));
      const counts = { due: 0, scheduled: 0, skipped: 0, submitted: 0, refused: 0 };
      const row = {
        connector: "fpx" as const,
        date: this.today.toString(),
        requested_by: null,
        counts,
        error: null,
      };
      return insertRun(this.tx(q), row);
    });
  }

  async run(store: Store, run: CollectionRun): Promise<CollectionRun> {
    const { log, background } = this.service.deps;
    const ctx = { store, log, background, now: this.now, request_id: "test" };
    return runToEnd({
      ctx,
      scope: this.scope,
      run,
      until: this.today,
      today: this.today,
      connects: CONNECTORS,
      connectors: new Map([
        ["sandbox", this.scheme.connector],
        ["fpx", { ...this.scheme.connector, name: "fpx", collect: async () => new Map() }],
      ]),
      collects: true,
    });
  }

  /** What must hold at the moment at which the scheme gets an order. */
  watch(known: Map<string, MandateRow>): void {
    this.scheme.onSent = (order) => {
      expect(this.scheme.has(order.order_no)).toBe(false);
      const mandate = known.get(order.mandate.reference);
      if (!mandate) throw new Error("An order of no mandate");
      expect(Number(order.amount)).toBeLessThanOrEqual(Number(mandate.max_amount));
      if (mandate.expiry_date !== null) expect(this.today.toString() <= mandate.expiry_date).toBe(true);
      // A payment is tried again only after it was told that the attempt before it failed.
      const [, payment = "", attempt = ""] = /^D(\d+)-(\d+)$/.exec(order.order_no) ?? [];
      for (let before = 1; before < Number(attempt); before++) {
        // One that left in no file is nothing that the bank knows of.
        const order_no = `D${payment}-${before}`;
        expect(this.scheme.failed.has(order_no) || !this.scheme.has(order_no)).toBe(true);
      }
    };
  }

  async take(step: Step): Promise<void> {
    const { store } = this.service.deps;
    const all = await this.mandates();
    const picked = "pick" in step ? all[step.pick % all.length] : undefined;
    // In force when a run begins is in force while it sends: nothing else happens meanwhile.
    const active = all.filter(({ status }) => status === "active");
    this.watch(new Map(active.map((one) => [one.reference, one])));
    this.#told = await this.flags();
    if (step.do === "days") {
      this.today = this.today.add({ days: step.days });
      if (Temporal.PlainDate.compare(this.today, this.last_day) > 0) this.last_day = this.today;
      this.scheme.today = this.today;
    } else if (step.do === "run") {
      const run = await this.begin();
      const is_store = step.crash === "store";
      this.scheme.fault = step.crash === "store" ? "none" : step.crash;
      const told = await this.run(is_store ? dying(store, step.after, step.commits) : store, run);
      if (!is_store) expect([told.status, told.error]).toEqual(["finished", null]);
      this.scheme.fault = "none";
      await this.handOut();
    } else if (step.do === "run twice") {
      const run = await this.begin();
      const slow = slowed(store);
      await Promise.all([this.run(slow, run), this.run(slow, run), this.run(slow, run)]);
      await this.handOut();
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
      await store.tx((q) => insertPayments(this.tx(q), [payment]));
    } else if (step.do === "move" && picked) {
      await store.tx(async (q) => {
        const stored = await findStoredMandate(this.tx(q), picked.id);
        const from = step.trigger === "resume" ? "suspended" : "active";
        if (stored?.status === from) await transitionMandate(this.tx(q), stored, step.trigger);
      });
    } else if (step.do === "amend" && picked) {
      await this.amend(picked, step);
    } else if (step.do === "again") {
      await this.collectAgain(step.pick);
    } else if (step.do === "limit" && picked) {
      await store.tx(async (q) => {
        const t = q.use(mandateTable);
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
    // A bank knows of no debit that stood in no file.
    if (!order || (order.connector === "fpx" && !this.scheme.has(order.order_no))) return;
    const status = replay ? "submitted" : order.status;
    const result = this.scheme.resultFor({ ...order, status });
    await this.service.deps.store.tx((q) => applyPaymentResults(this.tx(q), [{ order, result }]));
  }

  /** Banks get the files of the runs that have ended since, each at once. */
  async handOut(): Promise<void> {
    const { read } = this.service.deps.store;
    const t = read.use(collectionRunTable);
    const ended = and(eq(t.company_id, this.scope.company_id), eq(t.status, "finished"));
    for (const { id } of await read.select().from(t).where(ended).orderBy(t.id)) {
      if (this.#files.has(id)) continue;
      const lines = await this.linesOf(id);
      this.#files.set(id, collectionLines(lines));
      this.scheme.take(
        lines.map(({ order_no, amount: sum, mandate_reference: reference }) => ({
          order_no,
          amount: sum,
          mandate: { reference },
        })),
      );
    }
  }

  /** The bank takes a change of a mandate. */
  async amend(
    mandate: MandateRow,
    { frequency, sen }: { frequency: Frequency | null; sen: number | null },
  ): Promise<void> {
    const may_change = mandate.expiry_date === null && mandate.next_collection_at !== null;
    const change = {
      ...(frequency !== null && may_change ? { frequency } : {}),
      ...(sen === null ? {} : { amount: amount(sen) }),
    };
    if (!isInForce(mandate.status) || Object.keys(change).length === 0) return;
    const { id, connector } = mandate;
    await this.service.deps.store.tx(async (q) => {
      await updateMandate(this.tx(q), mandate, { amendment: change });
      const wanted = { mandate_id: id, connector, kind: "amendment" as const, amount: "1.00" };
      const order = exactlyOne(await insertOrders(this.tx(q), [wanted]));
      const heard = await applyMandateResult(this.tx(q), order, resultOf("00"));
      expect(heard).toBe("applied");
    });
    const after = (await this.mandates()).find((one) => one.id === id);
    if (after && after.frequency !== mandate.frequency) {
      const epochs = this.epochsOf(mandate);
      this.#epochs.set(id, [...epochs, epochOf(after)]);
    }
  }

  epochsOf(mandate: MandateRow): Epoch[] {
    return this.#epochs.get(mandate.id) ?? [epochOf(mandate)];
  }

  /** A person collects a payment that was skipped. */
  async collectAgain(pick: number): Promise<void> {
    const { store, log } = this.service.deps;
    const skipped = (await this.payments()).filter(({ status }) => status === "skipped");
    const payment = skipped[pick % Math.max(1, skipped.length)];
    const mandate = (await this.mandates()).find(({ id }) => id === payment?.mandate_id);
    if (!payment || mandate?.status !== "active") return;
    const from = ["skipped" as const];
    const options = { today: this.today, collection_run_id: null, from };
    // What the mandate does not allow is undone, as the operation undoes it.
    const orders = await store
      .tx(async (q) => {
        const submitted = await submitPayments(this.tx(q), [payment.id], options);
        if (submitted.orders.length === 0) throw new Error("Refused");
        return submitted.orders;
      })
      .catch(() => []);
    const connectors = new Map([["sandbox" as const, this.scheme.connector]]);
    await sendDebits({ store, log, now: this.now, request_id: "test" }, this.scope, connectors, orders);
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
    for (const [id, text] of this.#files) expect(collectionLines(await this.linesOf(id))).toBe(text);
    this.#checkCounts(all, payments);
    for (const mandate of all) this.#checkSuccesses(mandate, payments, flags);
    for (const mandate of all) {
      const collected = payments.filter(
        ({ mandate_id, period_key }) => mandate_id === mandate.id && period_key !== null,
      );
      for (const { due_date, frequency } of collected) {
        const days = daysOf(this.epochsOf(mandate), Temporal.PlainDate.from(due_date));
        expect(days.filter((one) => one.frequency === frequency).map(({ day }) => day)).toContain(due_date);
        if (mandate.expiry_date !== null) expect(due_date <= mandate.expiry_date).toBe(true);
      }
      expect(new Set(collected.map(({ due_date }) => due_date)).size).toBe(collected.length);
    }
  }

  /** No debit went out in a period that had as many as the mandate allows, of the frequency under which it was made. */
  #checkCounts(all: readonly MandateRow[], payments: readonly PaymentRow[]): void {
    const { sent, failed } = this.scheme;
    for (; this.#counted < sent.length; this.#counted++) {
      const one = sent[this.#counted];
      if (!one) continue;
      const mandate = all.find(({ reference }) => reference === one.order.mandate.reference);
      const frequency = frequencyOf(one.order.order_no, payments);
      const others = sent
        .slice(0, this.#counted)
        .filter(
          ({ order, day }) =>
            order.mandate.reference === mandate?.reference &&
            frequencyOf(order.order_no, payments) === frequency &&
            samePeriod(frequency, day, one.day) &&
            !failed.has(order.order_no) &&
            !this.#told.has(order.order_no),
        );
      expect(others.length).toBeLessThan(Number(mandate?.max_no_debit));
    }
  }

  /** Of more debits that the bank says were paid in a period than the mandate allows, a person was told. */
  #checkSuccesses(
    { reference, max_no_debit }: MandateRow,
    payments: readonly PaymentRow[],
    flags: Awaited<ReturnType<CompanyRecords["flags"]>>,
  ): void {
    const paid = this.scheme.sent.filter(
      ({ order }) => order.mandate.reference === reference && this.scheme.paid.has(order.order_no),
    );
    for (const { day, order } of paid) {
      const frequency = frequencyOf(order.order_no, payments);
      const same = paid.filter(
        (other) =>
          frequencyOf(other.order.order_no, payments) === frequency && samePeriod(frequency, day, other.day),
      );
      if (same.length <= Number(max_no_debit)) continue;
      expect(same.some((one) => flags.has(one.order.order_no))).toBe(true);
    }
  }

  /** In the end, nothing dies any more: every day of collection of a mandate in force has its payment. */
  async settle(): Promise<void> {
    this.today = this.last_day.add({ days: 1 });
    this.last_day = this.today;
    this.scheme.today = this.today;
    for (const { id, status } of await this.mandates()) {
      if (status !== "suspended") continue;
      await this.service.deps.store.tx(async (q) => {
        const stored = await findStoredMandate(this.tx(q), id);
        if (stored?.status === "suspended") await transitionMandate(this.tx(q), stored, "resume");
      });
    }
    await this.take({ do: "run", crash: "none", after: 0, commits: true });
    await this.#checkFiled();
    const payments = await this.payments();
    const due = payments.filter(
      ({ next_attempt_at }) => next_attempt_at !== null && next_attempt_at <= iso(this.now),
    );
    const in_force = new Set(
      (await this.mandates()).flatMap((one) => (one.status === "active" ? one.id : [])),
    );
    expect(due.filter(({ mandate_id }) => in_force.has(mandate_id))).toEqual([]);
    for (const mandate of (await this.mandates()).filter(({ status }) => status === "active")) {
      const { expiry_date } = mandate;
      const days = daysOf(this.epochsOf(mandate), this.today)
        .map(({ day }) => day)
        .filter((day) => expiry_date === null || day <= expiry_date);
      const collected = payments.filter((one) => one.mandate_id === mandate.id && one.period_key !== null);
      expect(collected.map(({ due_date }) => due_date).toSorted()).toEqual(days);
    }
  }

  /** Every debit that a bank takes by file stands in one that it got, unless its mandate rests. */
  async #checkFiled(): Promise<void> {
    const resting = new Set(
      (await this.mandates()).flatMap(({ id, status }) => (status === "active" ? [] : id)),
    );
    const open = (await this.orders()).filter(
      ({ connector, awaits, mandate_id }) =>
        connector === "fpx" && awaits === "payment" && !resting.has(mandate_id),
    );
    expect(open.filter(({ order_no }) => !this.scheme.has(order_no))).toEqual([]);
  }
}
