import type { StoredResponse } from "../app/claim.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";
import { isMaskedIcNumber } from "../core/malaysia.ts";
import { instant } from "../core/time.ts";
import { isSecretName } from "../core/secret_names.ts";
import type { FoundKey } from "./model.ts";

/** Whether a status says that the work was done. A refusal changed nothing: its cause may be gone the next time. */
export function isDone(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether an answer may be kept: one with a secret is shown once, and a large one is not held. */
export function isStorable({ body }: StoredResponse): boolean {
  return body.length <= LIMITS.idempotency_answer_characters && !showsSecret(readJson(body));
}

/** Whether JSON has a field, at any depth, whose name is a secret's and which tells it: a hidden number does not. */
export function showsSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, member]) => {
    const may_tell = !Array.isArray(value) && typeof member === "string" && !isMaskedIcNumber(member);
    return (may_tell && isSecretName(name)) || showsSecret(member);
  });
}

/**
 * What a repeat is answered: the answer that was kept. Errors: conflict for another request under the same key,
 * for one that is under way, and for one that was carried out but whose answer is not kept.
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
    throw new AppError("conflict", "The request with this Idempotency-Key is under way: try again", {
      retry_after_s: Math.max(1, Math.min(seconds, LIMITS.idempotency_retry_s)),
    });
  }
  if (found.response !== null) return found.response;
  const { target_type, target_id } = found;
  const target = target_type === null ? "" : ` (${target_type}${target_id === null ? "" : ` ${target_id}`})`;
  throw new AppError(
    "conflict",
    `The request with this Idempotency-Key was carried out${target}, and its answer is not kept: look the record up`,
  );
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
