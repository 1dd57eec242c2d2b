import type { Environment, KeyRole } from "../../core/access.ts";
import { invalid } from "../../core/errors.ts";
import { instant } from "../../core/time.ts";

/** Prefixes of clientIds, so that keys of the two environments are not confused. */
export const PREFIXES: Record<Environment, string> = { staging: "stg_", production: "prd_" };

/** A key's secrets, as stored. */
export interface KeySecrets {
  secret_hash: string;
  secret_version: number;
  old_secret_hash: string | null;
  old_secret_ends_at: string | null;
  revoked_at: string | null;
}

/** A secret that is valid until `ends_at`; null: until the key is revoked. */
export interface ValidSecret {
  version: number;
  hash: string;
  ends_at: Temporal.Instant | null;
}

/** The secrets of a key that are valid at `now`: none of a revoked key, at most two. Decision 0100. */
export function validSecrets(key: KeySecrets, now: Temporal.Instant): ValidSecret[] {
  const { secret_hash, secret_version, old_secret_hash, old_secret_ends_at, revoked_at } = key;
  if (revoked_at !== null) return [];
  const newest = { version: secret_version, hash: secret_hash, ends_at: null };
  if (old_secret_hash === null || old_secret_ends_at === null) return [newest];
  const ends_at = instant(old_secret_ends_at);
  const old = { version: secret_version - 1, hash: old_secret_hash, ends_at };
  return Temporal.Instant.compare(now, ends_at) < 0 ? [newest, old] : [newest];
}

/** Rejects staging keys for ingest and gateways: usage is billed, and has no staging. Errors: invalid. Decision 0101. */
export function checkEnvironment(role: KeyRole, environment: Environment): void {
  if ((role === "ingest" || role === "gateway") && environment === "staging")
    throw invalid("/environment", `must be production for the role ${role}: usage has no staging`);
}
