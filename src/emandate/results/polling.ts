import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { instant } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { findConfig } from "../merchant_config/queries.ts";
import type { OrderResult } from "./apply_to_payment.ts";
import type { ConnectorName, SchemeOrder, SchemeResult } from "../scheme/connector.ts";
import { applyResults, auditAnswers } from "./apply_result.ts";
import { claimOrders, listDueOrders, rescheduleStatusQueries } from "./polling_queries.ts";
import { listSchemeOrders, type MandateOrder } from "../orders/queries.ts";
import { nextQueryAt } from "../orders/rules.ts";
import { answerInTime } from "./classify_mandate_result.ts";

/**
 * Asks the scheme what became of some orders that are due, and does what it says. Returns whether there may be more.
 * Orders are claimed for a while before: other instances ask for others, and after a crash they are due again.
 */
export async function pollBatch(ctx: Context, scope: Scope): Promise<boolean> {
  const { store, now } = ctx;
  const limit = LIMITS.mandate_orders_batch;
  const due = await listDueOrders({ q: store.read, scope, now }, limit);
  if (due.length === 0) return false;
  const until = now.add({ seconds: LIMITS.mandate_orders_claim_s });
  const claimed = await store.tx((q) => claimOrders({ q, scope, now }, due, until));
  const orders = await listSchemeOrders({ q: store.read, scope, now }, claimed);
  const queries = [...Map.groupBy(orders, ({ order }) => order.connector)].map(async ([name, batch]) => {
    const results = await queryStatuses(ctx, scope, name, batch);
    recordComplaints(ctx, scope, results);
    await applyAll(ctx, scope, results);
  });
  await Promise.all(queries);
  return due.length === limit;
}

const NOTHING_NEW: SchemeResult = {
  status: "pending",
  answers: null,
  code: null,
  message: null,
  is_retriable: false,
  scheme_txn_id: null,
};

/**
 * Errors: those of a connector that breaks; of one that is not configured the orders wait. Those that were not asked
 * for stay claimed for a while, and are due again then.
 */
async function queryStatuses(
  ctx: Context,
  scope: Scope,
  name: ConnectorName,
  orders: readonly { order: MandateOrder; request: SchemeOrder }[],
): Promise<OrderResult[]> {
  try {
    const connector = await openConnector(
      ctx,
      await findConfig({ q: ctx.store.read, scope, now: ctx.now }),
      name,
    );
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
    ctx.log.warn({ err: error, ...scope }, "cannot ask the scheme about its orders");
    return orders.map(({ order }) => ({ order, result: NOTHING_NEW }));
  }
}

/** What the scheme has against our messages stops everything that is asked: whoever runs this must know. */
export function recordComplaints(
  { log }: Pick<Context, "log">,
  { company_id }: Scope,
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

/** All in one transaction; where that fails one by one, so that one's trouble is not the others'. */
async function applyAll(ctx: Context, scope: Scope, results: readonly OrderResult[]): Promise<void> {
  const { store, log } = ctx;
  try {
    await store.tx((q) => apply(ctx, q, scope, results));
  } catch (cause) {
    log.warn({ err: cause }, "cannot apply the scheme's answers together");
    for (const one of results) {
      await store
        .tx((q) => apply(ctx, q, scope, [one]))
        .catch((error: unknown) =>
          log.error({ err: error, order_id: one.order.id }, "cannot apply the scheme's answer"),
        );
    }
  }
}

/** Does what is new, and notes of the others when they are asked of again. */
async function apply(ctx: Context, q: Queries, scope: Scope, results: readonly OrderResult[]): Promise<void> {
  const { now } = ctx;
  const timely = results.map(({ order, result }) => ({ order, result: answerInTime(order, result, now) }));
  const news = timely.filter(({ result }) => result.status !== "pending");
  const outcomes = await applyResults({ q, scope, now }, news);
  const applied = news.filter(({ order }) => outcomes.get(order.id) === "applied");
  await auditAnswers(ctx, q, scope, applied);
  const same = results.filter(({ order }) => outcomes.get(order.id) !== "applied");
  const postponed = same.map(({ order, result }) => ({
    order,
    next: nextQueryAt(order.connector, instant(order.awaits_since), now),
    response: result,
  }));
  await rescheduleStatusQueries({ q, scope, now }, postponed);
}
