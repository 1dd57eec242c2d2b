import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { environmentOf } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import { AppError, invalid, notFound, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { withTimeout, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { abandonPending, countLastDeliveries } from "../deliveries/queries.ts";
import { LOAN_TYPES } from "../events/model.ts";
import { addressesOf, ForbiddenDestination } from "./destination.ts";
import {
  CreateWebhook,
  GetWebhook,
  ListLoanWebhooks,
  ListWebhooks,
  subscribesTo,
  UpdateWebhook,
  Webhook,
  WebhookDetail,
  WebhookWithSecret,
} from "./model.ts";
import * as queries from "./queries.ts";
import { figuresOf, readUrl, rotateSecrets, type DestinationPolicy } from "./rules.ts";
import { resealSecrets, toStore } from "./sealed_secrets.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists the company's endpoints by id; whole when no page is asked for. */
export const listWebhooks = operation({
  name: "list_webhooks",
  permission: "webhooks:read",
  input: ListWebhooks,
  output: listed(WebhookDetail),
  run: (ctx, { page, limit, with: more, ...filter }) =>
    listPage({ page, limit }, async (slice) => {
      const tx = readTx(ctx);
      const { rows, total } = await queries.listWebhooks(tx, filter, slice);
      return { rows: await Promise.all(rows.map((row) => detailOf(tx, row, more))), total };
    }),
});

/** Finds one endpoint. Errors: not_found. */
export const getWebhook = operation({
  name: "get_webhook",
  permission: "webhooks:read",
  input: GetWebhook,
  output: WebhookDetail,
  async run(ctx, { id, with: more }) {
    const tx = readTx(ctx);
    return detailOf(tx, orNotFound(await queries.findWebhook(tx, id), "Webhook", id), more);
  },
});

async function detailOf(tx: ReadTx, webhook: Webhook, more: "figures" | undefined): Promise<WebhookDetail> {
  if (more === undefined) return webhook;
  const ended = await countLastDeliveries(tx, webhook.id, LIMITS.webhook_figures);
  return { ...webhook, figures: figuresOf(ended) };
}

/**
 * Creates an endpoint and returns its secret, this once. It receives events from now on. Errors: invalid (a URL that
 * must not be called, a pattern that matches no event), conflict at the limit of endpoints. Decisions 0061, 0062.
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
 * Replaces an endpoint's editable fields; pending deliveries go to the new URL. Status `disabled` abandons them.
 * Errors: not_found, invalid. Decision 0063.
 */
export const updateWebhook = operation({
  name: "update_webhook",
  permission: "webhooks:write",
  input: UpdateWebhook,
  output: Webhook,
  async run(ctx, { id, url, event_types, description = null, status }) {
    await checkUrl(url, ctx.config);
    return transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findWebhook(tx, id), "Webhook", id);
      const change = { url, event_types, description, ...statusChange(before, status) };
      const webhook = orNotFound(await queries.updateWebhook(tx, id, change), "Webhook", id);
      if (webhook.status === "disabled") await abandonPending(tx, id);
      ctx.annotateAudit({ before, after: webhook });
      return webhook;
    });
  },
});

/**
 * Enables an endpoint that was disabled, by a user or because it answered 410; what was abandoned stays so until it is
 * redelivered. Errors: not_found.
 */
export const enableWebhook = operation({
  name: "enable_webhook",
  permission: "webhooks:write",
  target: "webhook",
  input: ById,
  output: Webhook,
  run: (ctx, { id }) => enable(ctx, id),
});

/** Lists the endpoints that hear of events about loans, by id. */
export const listLoanWebhooks = operation({
  name: "list_loan_webhooks",
  permission: "lending:read",
  input: ListLoanWebhooks,
  output: listed(WebhookDetail),
  run: (ctx, { page, limit, with: more, ...filter }) =>
    listPage({ page, limit }, async ({ offset, limit: rows }) => {
      const tx = readTx(ctx);
      const all = await queries.listWebhooks(tx, filter, { offset: 0, limit: LIMITS.webhook_endpoints });
      const of_loans = all.rows.filter(hearsOfLoans);
      const page_rows = of_loans.slice(offset, offset + rows);
      const details = await Promise.all(page_rows.map((row) => detailOf(tx, row, more)));
      return { rows: details, total: of_loans.length };
    }),
});

/**
 * Enables an endpoint that hears of events about loans, as `enableWebhook`. Errors: not_found, forbidden in staging, since it
 * hears of production too. Decision 0363.
 */
export const enableLoanWebhook = operation({
  name: "enable_loan_webhook",
  permission: "lending:write",
  target: "webhook",
  input: ById,
  output: Webhook,
  run(ctx, { id }) {
    if (environmentOf(ctx.actor) !== "production")
      throw new AppError(
        "forbidden",
        `Cannot enable webhook ${id} in staging: it hears of production too. Enable it there`,
      );
    return enable(ctx, id, hearsOfLoans);
  },
});

function enable(ctx: Context, id: number, isShown?: (webhook: Webhook) => boolean): Promise<Webhook> {
  return transaction(ctx, async (tx) => {
    const before = await queries.findWebhook(tx, id);
    if (before === undefined || isShown?.(before) === false) throw notFound("Webhook", id);
    const webhook = orNotFound(
      await queries.updateWebhook(tx, id, statusChange(before, "active")),
      "Webhook",
      id,
    );
    ctx.annotateAudit({ before, after: webhook });
    return webhook;
  });
}

const hearsOfLoans = (webhook: Webhook) => LOAN_TYPES.some((type) => subscribesTo(webhook, type));

/** Deletes an endpoint and its secrets; pending deliveries are abandoned, logs stay. Errors: not_found. */
export const deleteWebhook = operation({
  name: "delete_webhook",
  permission: "webhooks:write",
  uses_reserve: true,
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
      orNotFound(await queries.updateWebhook(tx, id, end), "Webhook", id);
      await abandonPending(tx, id);
      return {};
    }),
});

/**
 * Rotates an endpoint's secret and returns the new one, this once; the old one signs too for a day.
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
      const secrets = orNotFound(await queries.findSecrets(tx, id), "Webhook", id);
      const stored = toStore(ctx.secrets, tx.scope.company_id, secret);
      const change = { secrets: rotateSecrets(secrets, stored, ctx.now) };
      return { ...orNotFound(await queries.updateWebhook(tx, id, change), "Webhook", id), secret };
    });
  },
});

/**
 * Seals signing secrets that are stored in plain text or under an older key with the newest key of SECRETS_KEY; does
 * nothing without one. Errors: conflict for a secret that no key opens, after all others are sealed. Decision 0061.
 */
export const resealWebhookSecrets = operation({
  name: "reseal_webhook_secrets",
  permission: "webhooks:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    if (!ctx.secrets.can_seal) return {};
    const unopened = await transaction(ctx, async (tx) => {
      let first: AppError | undefined;
      for (const { id, secrets } of await queries.listSecrets(tx)) {
        const { resealed, problem } = resealSecrets(ctx.secrets, tx.scope.company_id, secrets);
        first ??= problem;
        if (resealed) await queries.updateSecrets(tx, id, resealed);
      }
      return first;
    });
    if (unopened) throw unopened;
    return {};
  },
});

/** Checks a URL. Errors: invalid. A host that does not resolve yet is accepted: each attempt checks again. */
async function checkUrl(text: string, policy: DestinationPolicy): Promise<void> {
  const { url, problem } = readUrl(text, policy);
  if (!url) throw invalid("/url", problem);
  const check = addressesOf(url, policy).then(
    () => null,
    (error: unknown) => (error instanceof ForbiddenDestination ? error.message : null),
  );
  const address_problem = await withTimeout(check, LIMITS.webhook_resolve_ms);
  if (address_problem !== null) throw invalid("/url", address_problem);
}

function statusChange(before: Webhook, status: Webhook["status"] | undefined) {
  if (status === undefined || status === before.status) return {};
  return { status, disabled_reason: status === "active" ? null : "Disabled by a user" };
}

function makeSecret(): string {
  return `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64")}`;
}
