import type { Static } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { retention } from "../../app/retention.ts";
import { type Actor, environmentOf, scopeOf } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, paged } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { findWebhook, listActive } from "../endpoints/queries.ts";
import { newMessageId } from "../events/queries.ts";
import {
  ListLoanWebhookLogs,
  ListWebhookLogs,
  RedeliveredWebhooks,
  RedeliverLoanWebhooks,
  RedeliverWebhooks,
  TEST_EVENT,
  WebhookLog,
} from "./model.ts";
import * as queries from "./queries.ts";
import { ONE_ATTEMPT } from "./rules.ts";
import { transaction } from "../../app/transaction.ts";

/** Lists deliveries with their attempts, newest first. */
export const listWebhookLogs = operation({
  name: "list_webhook_logs",
  permission: "webhooks:read",
  input: ListWebhookLogs,
  output: paged(WebhookLog),
  run: (ctx, query) => list(ctx, scopeOf(ctx.actor), query),
});

/** Finds one delivery. Errors: not_found. */
export const getWebhookLog = operation({
  name: "get_webhook_log",
  permission: "webhooks:read",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) => find(ctx, scopeOf(ctx.actor), id),
});

/**
 * Sends an endpoint one `webhook.test` message, whatever it subscribes to. Errors: not_found, conflict while it is
 * disabled.
 */
export const testWebhook = operation({
  name: "test_webhook",
  permission: "webhooks:write",
  target: "webhook_log",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const { status, url } = orNotFound(await findWebhook(tx, id), "Webhook", id);
      if (status !== "active") throw new AppError("conflict", `Cannot test webhook ${id}: it is disabled`);
      const message = {
        company_id: tx.scope.company_id,
        endpoint_id: id,
        message_id: newMessageId(),
        event_type: TEST_EVENT,
        environment: null,
        url,
        payload: { type: TEST_EVENT, timestamp: iso(tx.now), data: { id, status } },
        step: ONE_ATTEMPT,
      };
      return exactlyOne(await queries.insertLogs(tx, [message]));
    }),
});

/**
 * Redelivers a message: one more attempt, recorded in the same log. Errors: not_found, conflict while it is pending
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

/**
 * Redelivers the messages that match, the oldest first, as `redeliverWebhook` does one: so many at once. Those whose endpoint
 * is not active are passed over. Decision 0063.
 */
export const redeliverWebhooks = operation({
  name: "redeliver_webhooks",
  permission: "webhooks:write",
  target: "webhook_log",
  input: RedeliverWebhooks,
  output: RedeliveredWebhooks,
  run: (ctx, input) => redeliverMatching(ctx, scopeOf(ctx.actor), input),
});

/** Redelivers the messages about loans that match, as `redeliverWebhooks`. */
export const redeliverLoanWebhooks = operation({
  name: "redeliver_loan_webhooks",
  permission: "lending:write",
  target: "webhook_log",
  input: RedeliverLoanWebhooks,
  output: RedeliveredWebhooks,
  run: (ctx, input) => redeliverMatching(ctx, loanLogsOf(ctx.actor), input),
});

/** Lists deliveries of events about loans in the caller's environment, newest first. */
export const listLoanWebhookLogs = operation({
  name: "list_loan_webhook_logs",
  permission: "lending:read",
  input: ListLoanWebhookLogs,
  output: paged(WebhookLog),
  run: (ctx, query) => list(ctx, loanLogsOf(ctx.actor), query),
});

/** Finds one delivery of an event about loans. Errors: not_found, also in the other environment. */
export const getLoanWebhookLog = operation({
  name: "get_loan_webhook_log",
  permission: "lending:read",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) => find(ctx, loanLogsOf(ctx.actor), id),
});

/** Redelivers an event about loans, as `redeliverWebhook`. Errors: not_found, conflict. */
export const redeliverLoanWebhook = operation({
  name: "redeliver_loan_webhook",
  permission: "lending:write",
  target: "webhook_log",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) => redeliver(ctx, loanLogsOf(ctx.actor), id),
});

/** Deletes deliveries that ended long ago. Decision 0063. */
export const pruneWebhookLogs = retention({
  name: "prune_webhook_logs",
  permission: "webhooks:write",
  deletions: [
    (tx, limit) => queries.deleteOldLogs(tx, tx.now.subtract({ hours: 24 * LIMITS.webhook_log_days }), limit),
  ],
});

/** The deliveries of loan events in the caller's environment. Errors: forbidden for an actor that works in none. */
function loanLogsOf(actor: Actor): queries.LogScope {
  return { ...scopeOf(actor), environment: environmentOf(actor) };
}

function list(
  { store, now }: Context,
  scope: queries.LogScope,
  { page, limit, ...filter }: Static<typeof ListWebhookLogs>,
) {
  return pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
    queries.listLogs({ q: store.read, scope, now }, filter, slice),
  );
}

async function find({ store, now }: Context, scope: queries.LogScope, id: number): Promise<WebhookLog> {
  return orNotFound(await queries.findLog({ q: store.read, scope, now }, id), "Webhook log", id);
}

function redeliverMatching(
  { store, now }: Context,
  scope: queries.LogScope,
  { after_id = 0, limit = LIMITS.webhook_redelivered, status = "failed", ...filter }: RedeliverWebhooks,
): Promise<RedeliveredWebhooks> {
  return store.tx(async (q) => {
    const tx = { q, scope, now };
    const ended = await queries.listEnded(tx, { ...filter, status }, after_id, limit);
    const endpoint_ids = [...new Set(ended.map(({ endpoint_id }) => endpoint_id))];
    const active = new Set((await listActive(q, { ids: endpoint_ids })).map(({ id }) => id));
    const ids = ended.filter(({ endpoint_id }) => active.has(endpoint_id)).map(({ id }) => id);
    const redelivered = ids.length === 0 ? 0 : await queries.requeueDeliveries(tx, ids);
    return {
      redelivered,
      passed_over: ended.length - ids.length,
      next_after_id: ended.length < limit ? null : (ended.at(-1)?.id ?? null),
    };
  });
}

function redeliver({ store, now }: Context, scope: queries.LogScope, id: number): Promise<WebhookLog> {
  return store.tx(async (q) => {
    const tx = { q, scope, now };
    const before = orNotFound(await queries.findLog(tx, id), "Webhook log", id);
    const webhook = await findWebhook(tx, before.endpoint_id);
    const conflict = (state: string) =>
      new AppError("conflict", `Cannot redeliver webhook log ${id}: ${state}`);
    if (webhook?.status !== "active") throw conflict("its endpoint is disabled or deleted");
    const log = await queries.requeueDelivery(tx, id);
    if (!log) throw conflict("it is pending");
    return log;
  });
}
