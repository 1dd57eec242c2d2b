import type { Context } from "../../app/context.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { compare } from "../../core/money.ts";
import type { Queries } from "../../store/store.ts";
import { readFpxCallback } from "../merchant_config/verify_callback.ts";
import { applyResult, auditResults } from "./apply_result.ts";
import { logComplaints } from "./polling.ts";
import {
  type CallbackNote,
  countUnmatchedCallbacks,
  insertCallback,
  listOrderCallbacks,
} from "./callback_queries.ts";
import { findOrderByNumber } from "../orders/queries.ts";

/**
 * Applies a callback of the scheme and keeps a record of it, whatever its outcome. The signature is checked first,
 * so that nobody learns of orders without it. Errors: malformed for a wrong signature or amount, not_found for an
 * order that is not of the seller named.
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
  const received = { order_no, response_code: result.code };
  // FPX has no orders of the sandbox.
  const is_known = order?.company_id === company_id && order.connector === "fpx";
  if (!is_known) return refuse(notFound("Order", order_no), received);
  if (compare(amount, order.amount) !== 0) {
    const problem = `Cannot take the callback: order ${order_no} has another amount`;
    return refuse(new AppError("malformed", problem), { ...received, company_id });
  }
  logComplaints(log, company_id, [{ result }]);
  const outcome = await store.tx(async (q) => {
    const tx = { q, scope: { company_id }, now };
    const earlier = await listOrderCallbacks(tx, order_no, LIMITS.scheme_callbacks_order);
    const is_repeated = earlier.some((one) => one.digest === digest && one.outcome !== "refused");
    const applied = is_repeated ? "repeated" : await applyResult(tx, order, result);
    if (applied === "applied") await auditResults(ctx, tx, [{ order, result }]);
    else if (earlier.length >= LIMITS.scheme_callbacks_order) return applied;
    const note = { ...blank, ...received, company_id, outcome: applied, reason: result.message };
    await insertCallback(q, now, note);
    return applied;
  });
  if (outcome !== "applied") log.info({ company_id, order_no, outcome }, "a callback changed nothing");
}

/** Whether a refused callback is not recorded any more: anyone may send unsigned ones, or repeat a signed one. */
async function isFull(
  q: Queries,
  now: Temporal.Instant,
  { company_id, order_no }: CallbackNote,
): Promise<boolean> {
  if (company_id !== null && order_no !== null) {
    const most = LIMITS.scheme_callbacks_order;
    return (await listOrderCallbacks({ q, scope: { company_id }, now }, order_no, most)).length >= most;
  }
  const since = now.subtract({ hours: 24 * LIMITS.scheme_callback_unmatched_days });
  const most = LIMITS.scheme_callbacks_unmatched;
  return (await countUnmatchedCallbacks(q, since, most)) >= most;
}
