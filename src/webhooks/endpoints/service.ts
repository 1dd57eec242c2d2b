import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { LIMITS } from "../../core/limits.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { withTimeout, iso } from "../../core/time.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { newMessageId } from "../events/queries.ts";
import { TEST_EVENT, WebhookLog } from "../deliveries/model.ts";
import { abandonPending, insertLogs } from "../deliveries/queries.ts";
import { ONE_ATTEMPT } from "../deliveries/rules.ts";
import { addressesOf, ForbiddenDestination } from "./destination.ts";
import { CreateWebhook, ListWebhooks, UpdateWebhook, Webhook, WebhookWithSecret } from "./model.ts";
import * as queries from "./queries.ts";
import { readUrl, rotateSecrets, type DestinationPolicy } from "./rules.ts";
import { resealed, toStore } from "./sealed_secrets.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists the company's endpoints by id; whole when no page is asked for. */
export const listWebhooks = operation({
  name: "list_webhooks",
  permission: "webhooks:read",
  input: ListWebhooks,
  output: listed(Webhook),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listWebhooks(readTx(ctx), filter, slice)),
});

/** Finds one endpoint. Errors: not_found. */
export const getWebhook = operation({
  name: "get_webhook",
  permission: "webhooks:read",
  input: ById,
  output: Webhook,
  async run(ctx, { id }) {
    const webhook = await queries.findWebhook(readTx(ctx), id);
    if (!webhook) throw notFound("Webhook", id);
    return webhook;
  },
});

/**
 * Creates an endpoint, which is told of what happens from now on, and answers its secret, this once.
 * Errors: invalid (a URL that must not be called, a pattern that means no event), conflict when the company has
 * as many as it may. Decisions 0061, 0062.
 */
export const createWebhook = operation({
  name: "create_webhook",
  permission: "webhooks:write",
  input: CreateWebhook,
  output: WebhookWithSecret,
  async run(ctx, { url, event_types, description = null }) {
    await checkUrl(url, ctx.config);
    const secret = makeSecret();
    return transaction(ctx, async (tx) => {
      if ((await queries.countWebhooks(tx)) >= LIMITS.webhook_endpoints) {
        throw new AppError(
          "conflict",
          `Cannot create a webhook: there are ${LIMITS.webhook_endpoints} already`,
        );
      }
      const secrets = [{ secret: toStore(ctx.secrets, tx.scope.company_id, secret), ends_at: null }];
      const webhook = { url, event_types, description, secrets };
      return { ...(await queries.insertWebhook(tx, webhook)), secret };
    });
  },
});

/**
 * Replaces what may be edited of an endpoint; what is pending goes to the new URL. Status `disabled` gives up
 * what is pending, `active` begins anew. Errors: not_found, invalid. Decision 0063.
 */
export const updateWebhook = operation({
  name: "update_webhook",
  permission: "webhooks:write",
  input: UpdateWebhook,
  output: Webhook,
  async run(ctx, { id, url, event_types, description = null, status }) {
    await checkUrl(url, ctx.config);
    return transaction(ctx, async (tx) => {
      const before = await queries.findWebhook(tx, id);
      if (!before) throw notFound("Webhook", id);
      const change = { url, event_types, description, ...statusChange(before, status) };
      const webhook = await queries.updateWebhook(tx, id, change);
      if (!webhook) throw notFound("Webhook", id);
      if (webhook.status === "disabled") await abandonPending(tx.q, id, ctx.now);
      ctx.annotateAudit({ before, after: webhook });
      return webhook;
    });
  },
});

/** Deletes an endpoint and its secrets; what is pending is given up, logs stay. Errors: not_found. */
export const deleteWebhook = operation({
  name: "delete_webhook",
  permission: "webhooks:write",
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const end = {
        status: "disabled" as const,
        disabled_reason: "Deleted",
        secrets: [],
        deleted_at: iso(ctx.now),
      };
      const webhook = await queries.updateWebhook(tx, id, end);
      if (!webhook) throw notFound("Webhook", id);
      await abandonPending(tx.q, id, ctx.now);
      return {};
    }),
});

/**
 * Gives an endpoint a new secret and answers it, this once; the old one signs beside it for a day.
 * Errors: not_found. Decision 0061.
 */
export const rotateWebhookSecret = operation({
  name: "rotate_webhook_secret",
  permission: "webhooks:write",
  target: "webhook",
  input: ById,
  output: WebhookWithSecret,
  run(ctx, { id }) {
    const secret = makeSecret();
    return transaction(ctx, async (tx) => {
      const secrets = await queries.findSecrets(tx, id);
      if (!secrets) throw notFound("Webhook", id);
      const stored = toStore(ctx.secrets, tx.scope.company_id, secret);
      const change = { secrets: rotateSecrets(secrets, stored, ctx.now) };
      const webhook = await queries.updateWebhook(tx, id, change);
      if (!webhook) throw notFound("Webhook", id);
      return { ...webhook, secret };
    });
  },
});

/**
 * Sends an endpoint a `webhook.test` message, once, whatever it listens to. Errors: not_found, conflict while it
 * is disabled.
 */
export const testWebhook = operation({
  name: "test_webhook",
  permission: "webhooks:write",
  target: "webhook_log",
  input: ById,
  output: WebhookLog,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const webhook = await queries.findWebhook(tx, id);
      if (!webhook) throw notFound("Webhook", id);
      const { status, url } = webhook;
      if (status !== "active") throw new AppError("conflict", `Cannot test webhook ${id}: it is disabled`);
      const message = {
        company_id: tx.scope.company_id,
        endpoint_id: id,
        message_id: newMessageId(),
        event_type: TEST_EVENT,
        environment: null,
        url,
        payload: { type: TEST_EVENT, timestamp: iso(ctx.now), data: { id, status } },
        step: ONE_ATTEMPT,
      };
      return exactlyOne(await insertLogs(tx.q, ctx.now, [message]));
    }),
});

/**
 * Seals the secrets of the company's endpoints that lie as they are, or under an older key, with the newest of the
 * keys that SECRETS_KEY names; without one nothing is done. Errors: conflict where none opens one, when all others are
 * sealed. Decision 0061.
 */
export const resealWebhookSecrets = operation({
  name: "reseal_webhook_secrets",
  permission: "webhooks:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    if (!ctx.secrets.can_seal) return {};
    const scope = scopeOf(ctx.actor);
    const unopened = await transaction(ctx, async (tx) => {
      let found: AppError | undefined;
      for (const { id, secrets } of await queries.listSecrets(tx)) {
        const { fresh, problem } = resealed(ctx.secrets, scope.company_id, secrets);
        found ??= problem;
        if (fresh) await queries.updateSecrets(tx, id, fresh);
      }
      return found;
    });
    if (unopened) throw unopened;
    return {};
  },
});

/** Errors: invalid. A host that does not resolve yet is let through: each call checks again. */
async function checkUrl(text: string, policy: DestinationPolicy): Promise<void> {
  const { url, problem } = readUrl(text, policy);
  if (!url) throw invalid("/url", problem);
  const refusal = addressesOf(url, policy).then(
    () => null,
    (error: unknown) => (error instanceof ForbiddenDestination ? error.message : null),
  );
  const refused = await withTimeout(refusal, LIMITS.webhook_resolve_ms);
  if (refused !== null) throw invalid("/url", refused);
}

function statusChange(before: Webhook, status: Webhook["status"] | undefined) {
  if (status === undefined || status === before.status) return {};
  return { status, disabled_reason: status === "active" ? null : "Disabled by a user" };
}

function makeSecret(): string {
  return `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64")}`;
}
