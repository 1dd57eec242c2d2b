import { operation } from "../../context.ts";
import { scopeOf } from "../../core/access.ts";
import { LIMITS } from "../../core/limits.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { pagedList } from "../../core/page.ts";
import { prune } from "../../core/prune.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { findWebhook } from "../webhooks/queries.ts";
import { ListWebhookLogs, WebhookLog } from "./model.ts";
import * as queries from "./queries.ts";

/** Lists deliveries with their attempts, newest first. Source: webhooks.md. */
export const listWebhookLogs = operation({
  name: "list_webhook_logs",
  permission: "webhooks:read",
  input: ListWebhookLogs,
  output: paged(WebhookLog),
  run: ({ store, actor }, { page, limit, ...filter }) =>
    pagedList({ page, limit }, LIMITS.page_limit_default, (slice) =>
      queries.listLogs(store.read, scopeOf(actor), filter, slice),
    ),
});

/** Finds one delivery. Errors: not_found. Source: webhooks.md. */
export const getWebhookLog = operation({
  name: "get_webhook_log",
  permission: "webhooks:read",
  input: ById,
  output: WebhookLog,
  async run({ store, actor }, { id }) {
    const log = await queries.findLog(store.read, scopeOf(actor), id);
    if (!log) throw notFound("Webhook log", id);
    return log;
  },
});

/**
 * Sends a message once more: one attempt, noted in the same log. Errors: not_found, conflict while it is pending
 * or its endpoint is not active. Source: webhooks.md. Decision 0063.
 */
export const redeliverWebhook = operation({
  name: "redeliver_webhook",
  permission: "webhooks:write",
  target: "webhook_log",
  input: ById,
  output: WebhookLog,
  run: ({ store, actor, now }, { id }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const before = await queries.findLog(q, scope, id);
      if (!before) throw notFound("Webhook log", id);
      const webhook = await findWebhook(q, scope, before.endpoint_id);
      const refuse = (state: string) =>
        new AppError("conflict", `Cannot redeliver webhook log ${id}: ${state}`);
      if (webhook?.status !== "active") throw refuse("its endpoint is disabled or deleted");
      const log = await queries.reviveLog(q, scope, now, id);
      if (!log) throw refuse("it is pending");
      return log;
    }),
});

/** Forgets deliveries that ended long ago. Decision 0063. */
export const pruneWebhookLogs = operation({
  name: "prune_webhook_logs",
  permission: "webhooks:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run({ store, actor, now, background }) {
    const until = now.subtract({ hours: 24 * LIMITS.webhook_log_days });
    await prune(background, (limit) =>
      store.tx((q) => queries.deleteOldLogs(q, scopeOf(actor), until, limit)),
    );
    return {};
  },
});
