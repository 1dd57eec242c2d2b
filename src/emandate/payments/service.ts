import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, pagedWithSums } from "../../core/schema.ts";
import { instant } from "../../core/time.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { requireStoredMandate, type StoredMandate } from "../mandates/queries.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { findConfig } from "../merchant_config/queries.ts";
import type { MandateOrder } from "../orders/queries.ts";
import { debitPeriod } from "../schedule.ts";
import { dayAt } from "../working_days.ts";
import { CreateMandatePayment, ListMandatePayments, MandatePayment, MandatePaymentDetail } from "./model.ts";
import * as queries from "./queries.ts";
import { debitProblem, type DebitProblem, dueAt, PAYMENT_TRANSITIONS, paymentEvent } from "./rules.ts";
import { sendDebits, submitPayments } from "./submit.ts";

/** Lists payments, newest first. */
export const listMandatePayments = operation({
  name: "list_mandate_payments",
  permission: "emandate:read",
  input: ListMandatePayments,
  output: pagedWithSums(MandatePayment),
  run: (ctx, { page, limit, sort, sums = false, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, async (slice) => {
      const tx = readTx(ctx);
      const listed = await queries.listPayments(tx, { ...filter, ...(sort ? { sort } : {}) }, slice);
      return sums ? { ...listed, sums: await queries.sumPayments(tx, filter) } : listed;
    }),
});

/** Finds one payment with its attempts. Errors: not_found. */
export const getMandatePayment = operation({
  name: "get_mandate_payment",
  permission: "emandate:read",
  input: ById,
  output: MandatePaymentDetail,
  run: (ctx, { id }) => findDetail(readTx(ctx), id),
});

/**
 * Debits a mandate by hand: at once where that is due today or earlier, else on its day. Errors: not_found; conflict
 * where the mandate is not active; invalid for more than it allows, at once or in the period. Decision 0096.
 */
export const createMandatePayment = operation({
  name: "create_mandate_payment",
  permission: "emandate:write",
  input: CreateMandatePayment,
  output: MandatePaymentDetail,
  async run(ctx, { id, amount, due_date, description = null }) {
    const today = dayAt(ctx.now);
    const due = due_date === undefined ? today : Temporal.PlainDate.from(due_date);
    const found = await requireStoredMandate(readTx(ctx), id);
    checkDue(due, today, found);
    const is_ahead = Temporal.PlainDate.compare(due, today) > 0;
    const day = is_ahead ? due : today;
    return debitNow(ctx, found, async (tx) => {
      const mandate = await requireStoredMandate(tx, id);
      const { frequency } = mandate;
      const period = { ...debitPeriod(frequency, day), frequency };
      const debits = await queries.countDebits(tx, [id], period, { planned: true });
      const problem = debitProblem(mandate, amount, day, debits.get(id) ?? 0);
      if (problem) throw refusal(id, problem);
      const planned: queries.NewPayment = {
        mandate_id: id,
        period_key: null,
        due_date: due.toString(),
        debit_date: day.toString(),
        frequency,
        amount,
        description,
        status: "scheduled",
        next_attempt_at: dueAt(due),
      };
      const payment = exactlyOne(await queries.insertPayments(tx, [planned]));
      await recordEvents(tx, [paymentEvent(payment)]);
      if (is_ahead) return { id: payment.id, orders: [] };
      const { orders } = await submitPayments(tx, [payment.id], { today, collection_run_id: null });
      return { id: payment.id, orders };
    });
  },
});

/**
 * Tries a payment again now that waits for its next attempt, which counts as one, or makes a skipped one as a debit
 * of today. Errors: not_found; conflict where it is neither, or the mandate does not allow it now. Decision 0142.
 */
export const retryMandatePayment = operation({
  name: "retry_mandate_payment",
  permission: "emandate:write",
  input: ById,
  output: MandatePaymentDetail,
  async run(ctx, { id }) {
    const { mandate_id } = await findPayment(readTx(ctx), id);
    return debitNow(ctx, await requireStoredMandate(readTx(ctx), mandate_id), async (tx) => {
      const { status } = await findPayment(tx, id);
      if (status !== "retry_scheduled" && status !== "skipped") throw cannot("retry", id, `it is ${status}`);
      const options = { today: dayAt(ctx.now), collection_run_id: null, from: [status] };
      const { orders, refused } = await submitPayments(tx, [id], options);
      if (orders.length === 0) {
        throw cannot("retry", id, refused[0]?.response_message ?? "its mandate is not active");
      }
      return { id, orders };
    });
  },
});

/** Cancels an open payment. Errors: not_found; conflict where it is not open. */
export const cancelMandatePayment = operation({
  name: "cancel_mandate_payment",
  permission: "emandate:write",
  input: ById,
  output: MandatePaymentDetail,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const payment = await findPayment(tx, id);
      const status = PAYMENT_TRANSITIONS[payment.status].cancel;
      const moves = status ? [{ payment, change: { status, next_attempt_at: null } }] : [];
      const [cancelled] = await queries.movePayments(tx, moves);
      if (!cancelled) throw cannot("cancel", id, `it is ${payment.status}`);
      await recordEvents(tx, [paymentEvent(cancelled)]);
      return findDetail(tx, id);
    }),
});

/** Errors: not_found. */
async function findPayment(tx: ReadTx, id: number): Promise<MandatePayment> {
  return orNotFound(await queries.findPayment(tx, id), "Payment", id);
}

/** Errors: not_found. */
async function findDetail(tx: ReadTx, id: number): Promise<MandatePaymentDetail> {
  const payment = await findPayment(tx, id);
  return { ...payment, attempts: await queries.listAttempts(tx, id) };
}

/**
 * Persists a payment's orders by `submit`, then sends them; the audit entry names the payment by the id that `submit`
 * returns. Errors: conflict where the connector can't be opened, before anything is written, and those of `submit`.
 */
async function debitNow(
  ctx: Context,
  { connector: name }: StoredMandate,
  submit: (tx: Tx) => Promise<{ id: number; orders: readonly MandateOrder[] }>,
): Promise<MandatePaymentDetail> {
  const connector = await openConnector(ctx, await findConfig(readTx(ctx)), name);
  const { id, orders } = await transaction(ctx, submit);
  await sendDebits(ctx, scopeOf(ctx.actor), new Map([[name, connector]]), orders);
  return findDetail(readTx(ctx), id);
}

/** Nothing was due before there was a mandate. Errors: invalid. */
function checkDue(
  due: Temporal.PlainDate,
  today: Temporal.PlainDate,
  { effective_date, created_at }: StoredMandate,
): void {
  const earliest = effective_date ?? dayAt(instant(created_at)).toString();
  const latest = today.add({ years: LIMITS.emandate_due_years_ahead });
  if (due.toString() < earliest)
    throw invalid("/due_date", `must not be before the mandate began, ${earliest}`);
  if (Temporal.PlainDate.compare(due, latest) > 0)
    throw invalid("/due_date", `must not be after ${latest.toString()}`);
}

function refusal(mandate_id: number, { rule, message }: DebitProblem): AppError {
  if (rule === "status") return new AppError("conflict", `Cannot debit mandate ${mandate_id}: it ${message}`);
  const path = rule === "amount" ? "/amount" : "/due_date";
  return invalid(path, `is not allowed: the mandate ${message}`);
}

function cannot(action: string, id: number, why: string): AppError {
  return new AppError("conflict", `Cannot ${action} payment ${id}: ${why}`);
}
