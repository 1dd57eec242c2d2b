import type { Static } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { loanScopeOf, scopeOf } from "../../core/access.ts";
import { LIMITS } from "../../core/limits.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { pagedList } from "../../core/pagination.ts";
import { deleteInBatches } from "../../core/delete_in_batches.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { findWebhook } from "../endpoints/queries.ts";
import { ListLoanWebhookLogs, ListWebhookLogs, WebhookLog } from "./model.ts";
import * as queries from "./queries.ts";
import { transaction } from "../../app/transaction.ts";

/** Lists deliveries with their attempts, newest first. */
export const listWebhookLogs = operation({
  name: "list_webhook_logs",
  permission: "webhooks:read",
  input: ListWebhookLogs,
  output: paged(WebhookLog),
  run: (ctx, query) => listed(ctx, scopeOf(ctx.actor), query),
});

/** Finds one delivery. Errors: not_found. */
export const getWebhookLog = operation({
  name: "get_webhook_log",
  permission: "webhooks:read",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) => found(ctx, scopeOf(ctx.actor), id),
});

/**
 * Sends a message once more: one attempt, noted in the same log. Errors: not_found, conflict while it is pending
 * or its endpoint is not active. Decision 0063.
 */
export const redeliverWebhook = operation({
  name: "redeliver_webhook",
  permission: "webhooks:write",
  target: "webhook_log",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) => redeliver(ctx, scopeOf(ctx.actor), id),
});

/** Lists deliveries of what happened to loans in the caller's environment, newest first. */
export const listLoanWebhookLogs = operation({
  name: "list_loan_webhook_logs",
  permission: "lending:read",
  input: ListLoanWebhookLogs,
  output: paged(WebhookLog),
  run: (ctx, query) => listed(ctx, loanScopeOf(ctx.actor), query),
});

/** Finds one of them. Errors: not_found, also when it is of the other environment. */
export const getLoanWebhookLog = operation({
  name: "get_loan_webhook_log",
  permission: "lending:read",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) => found(ctx, loanScopeOf(ctx.actor), id),
});

/** Sends one of them once more, by the same rules as any. Errors: not_found, conflict. */
export const redeliverLoanWebhook = operation({
  name: "redeliver_loan_webhook",
  permission: "lending:write",
  target: "webhook_log",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) => redeliver(ctx, loanScopeOf(ctx.actor), id),
});

/** Forgets deliveries that ended long ago. Decision 0063. */
export const pruneWebhookLogs = operation({
  name: "prune_webhook_logs",
  permission: "webhooks:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const until = ctx.now.subtract({ hours: 24 * LIMITS.webhook_log_days });
    await deleteInBatches(ctx.background, (limit) =>
      transaction(ctx, (tx) => queries.deleteOldLogs(tx, until, limit)),
    );
    return {};
  },
});

function listed(
  { store }: Context,
  scope: queries.LogScope,
  { page, limit, ...filter }: Static<typeof ListWebhookLogs>,
) {
  return pagedList({ page, limit }, LIMITS.page_limit_default, (slice) =>
    queries.listLogs(store.read, scope, filter, slice),
  );
}

async function found({ store }: Context, scope: queries.LogScope, id: number): Promise<WebhookLog> {
  const log = await queries.findLog(store.read, scope, id);
  if (!log) throw notFound("Webhook log", id);
  return log;
}

function redeliver({ store, now }: Context, scope: queries.LogScope, id: number): Promise<WebhookLog> {
  return store.tx(async (q) => {
    const before = await queries.findLog(q, scope, id);
    if (!before) throw notFound("Webhook log", id);
    const webhook = await findWebhook({ q, scope, now }, before.endpoint_id);
    const refuse = (state: string) =>
      new AppError("conflict", `Cannot redeliver webhook log ${id}: ${state}`);
    if (webhook?.status !== "active") throw refuse("its endpoint is disabled or deleted");
    const log = await queries.requeueDelivery(q, scope, now, id);
    if (!log) throw refuse("it is pending");
    return log;
  });
}
