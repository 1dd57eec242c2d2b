import type { Context } from "../../app/context.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { instant } from "../../core/time.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import type { Tx } from "../../store/store.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { findConfig } from "../merchant_config/queries.ts";
import type { OrderResult } from "./apply_to_payment.ts";
import type { ConnectorName, SchemeOrder } from "../scheme/connector.ts";
import { resultWithoutCode } from "../scheme/response_codes.ts";
import { applyResults, auditResults } from "./apply_result.ts";
import { leaseOrders, listDueOrders, rescheduleStatusQueries } from "./polling_queries.ts";
import type { MandateOrder } from "../orders/queries.ts";
import { nextQueryAt } from "../orders/rules.ts";
import { resultInTime } from "./classify_mandate_result.ts";
import { listSchemeOrders } from "../orders/scheme_order_queries.ts";

/**
 * Queries the status of a batch of due orders and applies the results. Returns whether there may be more. Orders are
 * leased meanwhile: other instances poll others, and after a crash they are due again.
 */
export async function pollBatch(ctx: Context): Promise<boolean> {
  const limit = LIMITS.mandate_orders_batch;
  const due = await listDueOrders(readTx(ctx), limit);
  if (due.length === 0) return false;
  const until = ctx.now.add({ seconds: LIMITS.mandate_orders_claim_s });
  const leased = await transaction(ctx, (tx) => leaseOrders(tx, due, until));
  const orders = await listSchemeOrders(readTx(ctx), leased);
  const queries = [...Map.groupBy(orders, ({ order }) => order.connector)].map(async ([name, batch]) => {
    const results = await queryStatuses(ctx, name, batch);
    logComplaints(ctx.log, scopeOf(ctx.actor).company_id, results);
    await applyAll(ctx, results);
  });
  await Promise.all(queries);
  return due.length === limit;
}

const NO_NEWS = resultWithoutCode("pending", null);

/**
 * Queries the status of orders by one connector. Orders of one that is not configured wait; those that were not
 * queried in time stay leased, and are due again then. Errors: those of a connector that breaks.
 */
async function queryStatuses(
  ctx: Context,
  name: ConnectorName,
  orders: readonly { order: MandateOrder; request: SchemeOrder }[],
): Promise<OrderResult[]> {
  try {
    const connector = await openConnector(ctx, await findConfig(readTx(ctx)), name);
    const results = await connector.queryStatus(
      orders.map(({ request }) => request),
      ctx.now,
    );
    return orders.flatMap(({ order }) => {
      const result = results.get(order.order_no);
      return result === undefined ? [] : { order, result };
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    ctx.log.warn({ err: error, ...scopeOf(ctx.actor) }, "cannot query the status of orders");
    return orders.map(({ order }) => ({ order, result: NO_NEWS }));
  }
}

/** Logs the scheme's complaints about our messages: they stop every order, so the operator must know. */
export function logComplaints(
  log: Context["log"],
  company_id: number,
  results: readonly Pick<OrderResult, "result">[],
): void {
  const complaints = new Set(
    results.flatMap(({ result: { code, message, is_about_message } }) =>
      is_about_message === true ? [`${code}: ${message}`] : [],
    ),
  );
  if (complaints.size === 0) return;
  log.warn({ company_id, complaints: [...complaints] }, "the scheme refuses our messages");
}

/** Applies all results in one transaction; where that fails one by one, so that one failure spares the others. */
async function applyAll(ctx: Context, results: readonly OrderResult[]): Promise<void> {
  try {
    await transaction(ctx, (tx) => apply(ctx, tx, results));
  } catch (cause) {
    ctx.log.warn({ err: cause }, "cannot apply the scheme's results together");
    for (const one of results) {
      await transaction(ctx, (tx) => apply(ctx, tx, [one])).catch((error: unknown) =>
        ctx.log.error({ err: error, order_id: one.order.id }, "cannot apply the scheme's result"),
      );
    }
  }
}

/** Applies new results, and reschedules the status queries of the other orders. */
async function apply(ctx: Context, tx: Tx, results: readonly OrderResult[]): Promise<void> {
  const { now } = tx;
  const timely = results.map(({ order, result }) => ({ order, result: resultInTime(order, result, now) }));
  const news = timely.filter(({ result }) => result.status !== "pending");
  const outcomes = await applyResults(tx, news);
  const applied = news.filter(({ order }) => outcomes.get(order.id) === "applied");
  await auditResults(ctx, tx, applied);
  const unapplied = results.filter(({ order }) => outcomes.get(order.id) !== "applied");
  const postponed = unapplied.map(({ order, result }) => ({
    order,
    next: nextQueryAt(order.connector, instant(order.awaits_since), now),
    response: result,
  }));
  await rescheduleStatusQueries(tx, postponed);
}
