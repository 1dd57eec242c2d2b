import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { sha256, isSameSecret, randomAlphanumeric, randomSecret } from "../../core/random_secrets.ts";
import { earlier, instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { insertEntry } from "../../audit/queries.ts";
import { recordFailedSignIn } from "../../audit/failed_sign_ins.ts";
import { LoginResponse } from "../sessions/model.ts";
import {
  ApiKey,
  ApiKeyWithSecret,
  CreateApiKey,
  ExchangeApiKey,
  ListApiKeys,
  RotateApiKey,
} from "./model.ts";
import * as queries from "./queries.ts";
import { checkEnvironment, type ValidSecret, validSecrets, PREFIXES } from "./rules.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists the company's keys by id, revoked ones too; whole when no page is asked for. */
export const listApiKeys = operation({
  name: "list_api_keys",
  permission: "api_keys:read",
  input: ListApiKeys,
  output: listed(ApiKey),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listApiKeys(readTx(ctx), filter, slice)),
});

/** Finds one key. Errors: not_found. */
export const getApiKey = operation({
  name: "get_api_key",
  permission: "api_keys:read",
  input: ById,
  output: ApiKey,
  async run(ctx, { id }) {
    const key = await queries.findApiKey(readTx(ctx), id);
    if (!key) throw notFound("API key", id);
    return key;
  },
});

/**
 * Makes a key and answers its secret, this once. Errors: invalid (a staging key for ingest; a key to carry on from
 * that is no revoked agent's one of the environment), conflict when the company has as many as it may, or another
 * key carries on from that one. Decisions 0100, 0101.
 */
export const createApiKey = operation({
  name: "create_api_key",
  permission: "api_keys:write",
  input: CreateApiKey,
  output: ApiKeyWithSecret,
  async run(ctx, { name, role, environment, replaces_id = null }) {
    checkEnvironment(role, environment);
    const clientId = PREFIXES[environment] + randomAlphanumeric(24);
    const { clientSecret, ...secret } = newSecret();
    return transaction(ctx, async (tx) => {
      if ((await queries.countApiKeys(tx)) >= LIMITS.api_keys) {
        throw new AppError("conflict", `Cannot create an API key: there are ${LIMITS.api_keys} already`);
      }
      const first_key_id =
        replaces_id === null ? null : await findReplaced(tx, replaces_id, { role, environment });
      const key = await queries.insertApiKey(tx, {
        clientId,
        name,
        role,
        environment,
        replaces_id,
        first_key_id,
        ...secret,
      });
      return { ...key, clientSecret };
    });
  },
});

/**
 * Gives a key a new secret and answers it, this once. The one until now works for `grace_hours`, 24 unless told;
 * the one before that ends. Errors: not_found, conflict for a revoked key. Decision 0100.
 */
export const rotateApiKey = operation({
  name: "rotate_api_key",
  permission: "api_keys:write",
  input: RotateApiKey,
  output: ApiKeyWithSecret,
  run(ctx, { id, grace_hours = LIMITS.api_key_grace_hours_default }) {
    const { clientSecret, ...secret } = newSecret();
    const old_until = grace_hours === 0 ? null : ctx.now.add({ hours: grace_hours });
    return transaction(ctx, async (tx) => {
      const key = await queries.rotateApiKey(tx, id, { ...secret, old_until });
      if (!key) throw await exchangeProblem(tx, id, "rotate");
      return { ...key, clientSecret };
    });
  },
});

/** Ends a key, its secrets and its tokens; it stays listed. Errors: not_found, conflict for a revoked key. */
export const revokeApiKey = operation({
  name: "revoke_api_key",
  permission: "api_keys:write",
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const key = await queries.revokeApiKey(tx, id);
      if (!key) throw await exchangeProblem(tx, id, "revoke");
      return {};
    }),
});

/**
 * Exchanges a key for a token that is good for an hour, or for as long as the secret. Failures are counted by
 * network and clientId, and told to the key's company. Errors: unauthorized (the same for an unknown id, a wrong
 * secret and a revoked key), rate_limited. Decision 0100.
 */
export const exchangeApiKey = operation({
  name: "exchange_api_key",
  permission: "session:open",
  input: ExchangeApiKey,
  output: LoginResponse,
  async run(ctx, { clientId, clientSecret }) {
    const { store, now, address, login_guard, tokens } = ctx;
    const key = await queries.findCredentials(store.read, clientId);
    const secret = findSecret(key ? validSecrets(key, now) : [], clientSecret);
    const fits = await login_guard.attempt(
      { address, names: [clientId], is_password: false },
      async () => secret !== undefined,
    );
    if (key && fits.length === 0) recordFailedSignIn(ctx, exchangeError(key));
    if (!key || !secret || fits.length === 0) throw new AppError("unauthorized", "Invalid credentials");
    await recordUse(ctx, key);
    const hour = now.add({ hours: LIMITS.api_key_token_hours });
    const until = secret.ends_at === null ? hour : earlier(hour, secret.ends_at);
    const { token, expires_at } = await tokens.signKey({ ...key, secret_version: secret.version }, until);
    return { type: "bearer" as const, token, expiresAt: iso(expires_at) };
  },
});

/** Compared with where there is nothing to compare with: an unknown id takes as long as a known one. */
const NO_SECRET: ValidSecret = { version: 0, hash: "", ends_at: null };

function findSecret(good: ValidSecret[], clientSecret: string): ValidSecret | undefined {
  const sent_hash = sha256(clientSecret);
  return (good.length > 0 ? good : [NO_SECRET]).find(({ hash }) => isSameSecret(hash, sent_hash));
}

function exchangeError({ id, company_id, clientId }: queries.Credentials) {
  return {
    company_id,
    actor: { kind: "anonymous" as const },
    operation: "exchange_api_key",
    target: { type: "api_key", id },
    input: { clientId },
    withheld: ["/clientSecret"],
  };
}

/** Writes down that a key was used, in the log too; what was written a moment ago is good enough. */
async function recordUse(ctx: Context, key: queries.Credentials) {
  const { store, now, origin, address, request_id } = ctx;
  const { id, company_id, clientId, last_used_at } = key;
  const since = now.subtract({ minutes: LIMITS.api_key_used_minutes });
  if (last_used_at !== null && Temporal.Instant.compare(instant(last_used_at), since) > 0) return;
  const entry = {
    company_id,
    at: now,
    origin,
    address,
    request_id,
    actor: { kind: "key" as const, key_id: id },
    operation: "exchange_api_key",
    outcome: "ok" as const,
    target: { type: "api_key", id },
    input: { clientId },
    withheld: ["/clientSecret"],
    changes: null,
  };
  await store.tx(async (q) => {
    await queries.updateLastUsed({ q, scope: { company_id }, now }, id);
    await insertEntry(q, entry);
  });
}

/** A new secret, and what is kept of it. */
function newSecret() {
  const clientSecret = randomSecret();
  return { clientSecret, secret_hash: sha256(clientSecret), last4: clientSecret.slice(-4) };
}

/** The first of the keys whose work an agent's new key carries on. Errors: invalid. */
async function findReplaced(
  tx: ReadTx,
  id: number,
  { role, environment }: Pick<ApiKey, "role" | "environment">,
): Promise<number> {
  const replaced = await queries.findApiKey(tx, id);
  const fits =
    role === "agent" &&
    replaced?.role === role &&
    replaced.environment === environment &&
    replaced.revoked_at !== null;
  if (!fits) throw invalid("/replaces_id", "must be the id of a revoked agent's key of the same environment");
  return queries.findFirstKeyId(tx, id);
}

/** Why a key was not changed: it is not there, or it is revoked. */
async function exchangeProblem(tx: ReadTx, id: number, action: string): Promise<AppError> {
  const key = await queries.findApiKey(tx, id);
  if (!key) return notFound("API key", id);
  return new AppError("conflict", `Cannot ${action} API key ${id}: it is revoked`);
}
