import type { StoredResponse } from "../app/claim.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";
import { isMaskedIcNumber } from "../core/malaysia.ts";
import { instant } from "../core/time.ts";
import { isSecretName } from "../core/secret_names.ts";
import type { FoundKey } from "./model.ts";

/** Whether the request was carried out. A refusal changed nothing, and may succeed the next time. */
export function isDone(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether a response may be stored: it has no secret, which is shown once, and is not too large. */
export function isStorable({ body }: StoredResponse): boolean {
  return body.length <= LIMITS.idempotency_answer_characters && !showsSecret(readJson(body));
}

/** Whether JSON has a secret in a field at any depth. A masked IC number is none. */
export function showsSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, member]) => {
    const is_readable = !Array.isArray(value) && typeof member === "string" && !isMaskedIcNumber(member);
    return (is_readable && isSecretName(name)) || showsSecret(member);
  });
}

/**
 * The stored response, for a repeat. Errors: conflict for another request under the same key, for one in progress, and
 * for one that was carried out but whose response is not stored.
 */
export function replay(found: FoundKey, digest: string, now: Temporal.Instant): StoredResponse {
  if (found.digest !== digest) {
    throw new AppError(
      "conflict",
      "The Idempotency-Key was used with another request: a new request needs a new key",
    );
  }
  const seconds = Math.ceil(now.until(instant(found.lease_until)).total("seconds"));
  if (found.state === "in_progress" || (found.state === "committed" && seconds > 0)) {
    throw new AppError("conflict", "The request with this Idempotency-Key is in progress: try again", {
      retry_after_s: Math.max(1, Math.min(seconds, LIMITS.idempotency_retry_s)),
    });
  }
  if (found.response !== null) return found.response;
  const { target_type, target_id } = found;
  const target = target_type === null ? "" : ` (${target_type}${target_id === null ? "" : ` ${target_id}`})`;
  throw new AppError(
    "conflict",
    `The request with this Idempotency-Key was carried out${target}, but its response was not stored: look the record up`,
  );
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
