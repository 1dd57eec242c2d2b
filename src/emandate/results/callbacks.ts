import type { Context } from "../../app/context.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { compare } from "../../core/money.ts";
import type { Queries } from "../../store/store.ts";
import { readFpxCallback } from "../merchant_config/verify_callback.ts";
import { applyResult, auditAnswers } from "./apply_result.ts";
import { recordComplaints } from "./polling.ts";
import {
  type CallbackNote,
  countUnmatchedCallbacks,
  insertCallback,
  listOrderCallbacks,
} from "./callback_queries.ts";
import { findOrderByNumber } from "../orders/queries.ts";

/**
 * Takes what the scheme tells by itself, and writes down that it did, whatever comes of it. The signature is looked
 * at first: nobody learns of orders without it. Errors: malformed for a signature or an amount that is not right,
 * not_found for an order that is not of the seller who is named.
 */
export async function receiveCallback(ctx: Context, body: string): Promise<void> {
  const { store, now, address, log } = ctx;
  const digest = new Bun.CryptoHasher("sha256").update(body).digest("hex");
  const blank = { company_id: null, address, order_no: null, digest, response_code: null };

  async function refuse(error: AppError, matched: Partial<CallbackNote> = {}): Promise<never> {
    const note = { ...blank, ...matched, outcome: "refused" as const, reason: error.message };
    await store.tx(async (q) => {
      if (!(await isFull(q, now, note))) await insertCallback(q, now, note);
    });
    throw error;
  }

  const callback = await readFpxCallback(store.read, body, now).catch((error: unknown) => {
    if (error instanceof AppError && error.kind === "malformed") return refuse(error);
    throw error;
  });
  const { order_no, amount, result, company_id } = callback;
  const order = await findOrderByNumber(store.read, order_no);
  const results = { order_no, response_code: result.code };
  // FPX knows no order of the sandbox, whoever says that it does.
  const is_known = order?.company_id === company_id && order.connector === "fpx";
  if (!is_known) return refuse(notFound("Order", order_no), results);
  if (compare(amount, order.amount) !== 0) {
    const problem = `Cannot take the callback: the amount of order ${order_no} is another`;
    return refuse(new AppError("malformed", problem), { ...results, company_id });
  }
  recordComplaints({ log }, { company_id }, [{ result }]);
  const outcome = await store.tx(async (q) => {
    const earlier = await listOrderCallbacks(
      { q, scope: { company_id }, now },
      order_no,
      LIMITS.scheme_callbacks_order,
    );
    const came = earlier.some((one) => one.digest === digest && one.outcome !== "refused")
      ? ("repeated" as const)
      : await applyResult({ q, scope: { company_id }, now }, order, result);
    if (came === "applied") await auditAnswers(ctx, q, { company_id }, [{ order, result }]);
    if (came !== "applied" && earlier.length >= LIMITS.scheme_callbacks_order) return came;
    await insertCallback(q, now, { ...blank, ...results, company_id, outcome: came, reason: result.message });
    return came;
  });
  if (outcome !== "applied") log.info({ company_id, order_no, outcome }, "a callback changed nothing");
}

/** Whether a refused callback is written down no more: anyone may send what is nobody's, or what was signed again. */
async function isFull(
  q: Queries,
  now: Temporal.Instant,
  { company_id, order_no }: CallbackNote,
): Promise<boolean> {
  if (company_id !== null && order_no !== null) {
    const most = LIMITS.scheme_callbacks_order;
    return (await listOrderCallbacks({ q, scope: { company_id }, now }, order_no, most)).length >= most;
  }
  const since = now.subtract({ hours: 24 * LIMITS.scheme_callback_nobodys_days });
  const most = LIMITS.scheme_callbacks_nobodys;
  return (await countUnmatchedCallbacks(q, since, most)) >= most;
}
