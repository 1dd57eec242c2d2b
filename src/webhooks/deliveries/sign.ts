import { Webhook } from "standardwebhooks";
import type { AppError } from "../../core/errors.ts";
import type { Secrets } from "../../core/secret_box.ts";
import type { ActiveEndpoint } from "../endpoints/queries.ts";
import { signingSecrets } from "../endpoints/rules.ts";
import { openSecrets } from "../endpoints/sealed_secrets.ts";
import type { LeasedLog } from "./lease_queries.ts";
import type { Message } from "./send.ts";

/**
 * A delivery as a signed message (Standard Webhooks), by every active secret of its endpoint; or the error where no
 * key opens a secret.
 */
export function signMessage(
  secrets: Secrets,
  endpoint: ActiveEndpoint,
  { message_id, payload }: Pick<LeasedLog, "message_id" | "payload">,
  now: Temporal.Instant,
): Message | AppError {
  const { type, timestamp, data } = payload;
  const body = JSON.stringify({ type, timestamp, data });
  // oxlint-disable-next-line no-restricted-globals -- the library asks for one
  const at = new Date(now.epochMilliseconds);
  const active = signingSecrets(endpoint.secrets, now);
  const { opened, problem } = openSecrets(secrets, endpoint.company_id, active);
  // A secret that no key opens does not prevent signing by another: after a key was lost a rotation is enough.
  if (problem && opened.length === 0) return problem;
  const signatures = opened.map((secret) => new Webhook(secret).sign(message_id, at, body));
  const headers = {
    "content-type": "application/json",
    "user-agent": "Meterhouse",
    "webhook-id": message_id,
    "webhook-timestamp": String(Math.floor(now.epochMilliseconds / 1_000)),
    "webhook-signature": signatures.join(" "),
  };
  return { url: endpoint.url, body, headers };
}
