import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { sha256, isSameSecret, randomAlphanumeric, randomSecret } from "../../core/random_secrets.ts";
import { earlier, instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { recordFailedSignIn, recordSignIn, type SignIn } from "../../audit/sign_ins.ts";
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

/** Lists the company's keys by id, revoked ones included. */
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
    return orNotFound(await queries.findApiKey(readTx(ctx), id), "API key", id);
  },
});

/**
 * Creates a key and returns its secret, only this once. Errors: invalid (a staging key for ingest; a replaced key that
 * is no revoked agent's key of the environment), conflict when the company has the most it may have, or another key
 * replaces that one. Decisions 0100, 0101.
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
 * Rotates a key's secret and returns the new one, only this once. The old one works for `grace_hours` more; the one
 * before that ends. Errors: not_found, conflict for a revoked key. Decision 0100.
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
      if (!key) return refuseChange(tx, id, "rotate");
      return { ...key, clientSecret };
    });
  },
});

/** Revokes a key with its secrets and tokens; it stays listed. Errors: not_found, conflict for a revoked key. */
export const revokeApiKey = operation({
  name: "revoke_api_key",
  permission: "api_keys:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const key = await queries.revokeApiKey(tx, id);
      if (!key) return refuseChange(tx, id, "revoke");
      return {};
    }),
});

/**
 * Exchanges a key for a token that is valid for an hour, or until the secret ends. Failures count by network and
 * clientId, and are recorded for the key's company. Errors: unauthorized (the same for an unknown id, a wrong secret
 * and a revoked key), rate_limited. Decision 0100.
 */
export const exchangeApiKey = operation({
  name: "exchange_api_key",
  permission: "session:open",
  uses_reserve: true,
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
    if (key && fits.length === 0) recordFailedSignIn(ctx, signInOf(key, { kind: "anonymous" }));
    if (!key || !secret || fits.length === 0) throw new AppError("unauthorized", "Invalid credentials");
    await recordUse(ctx, key);
    const hour = now.add({ hours: LIMITS.api_key_token_hours });
    const until = secret.ends_at === null ? hour : earlier(hour, secret.ends_at);
    const { token, expires_at } = await tokens.signKey({ ...key, secret_version: secret.version }, until);
    return { type: "bearer" as const, token, expiresAt: iso(expires_at) };
  },
});

/** A decoy to compare with, so that an unknown id takes as long as a known one. */
const DECOY: ValidSecret = { version: 0, hash: "", ends_at: null };

function findSecret(valid: ValidSecret[], clientSecret: string): ValidSecret | undefined {
  const sent_hash = sha256(clientSecret);
  return (valid.length > 0 ? valid : [DECOY]).find(({ hash }) => isSameSecret(hash, sent_hash));
}

function signInOf({ id, company_id, clientId }: queries.Credentials, actor: SignIn["actor"]): SignIn {
  return {
    company_id,
    actor,
    operation: "exchange_api_key",
    target: { type: "api_key", id },
    input: { clientId },
    withheld: ["/clientSecret"],
  };
}

/** Records that a key was used, unless that was recorded a moment ago. */
async function recordUse(ctx: Context, key: queries.Credentials) {
  const { store, now } = ctx;
  const { id, company_id, last_used_at } = key;
  const since = now.subtract({ minutes: LIMITS.api_key_used_minutes });
  if (last_used_at !== null && Temporal.Instant.compare(instant(last_used_at), since) > 0) return;
  await store.tx(async (q) => {
    await queries.updateLastUsed({ q, scope: { company_id }, now }, id);
    await recordSignIn(ctx, q, signInOf(key, { kind: "key", key_id: id }));
  });
}

/** A new secret, and what is stored of it. */
function newSecret() {
  const clientSecret = randomSecret();
  return { clientSecret, secret_hash: sha256(clientSecret), last4: clientSecret.slice(-4) };
}

/** The first key of the chain that an agent's new key continues. Errors: invalid. */
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

/** Errors: not_found, or conflict for a revoked key. */
async function refuseChange(tx: ReadTx, id: number, action: string): Promise<never> {
  orNotFound(await queries.findApiKey(tx, id), "API key", id);
  throw new AppError("conflict", `Cannot ${action} API key ${id}: it is revoked`);
}
