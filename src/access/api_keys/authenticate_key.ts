import type { Actor } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import type { Reads } from "../../store/store.ts";
import type { KeyClaims } from "../sessions/tokens.ts";
import { findCredentials } from "./queries.ts";
import { validSecrets } from "./rules.ts";

/**
 * Which machine a key's token speaks for. The key is read each time, so that the end of the key, or of the secret
 * that the token was got by, counts at once. Errors: unauthorized. Decision 0100.
 */
export async function authenticateKey(
  q: Reads,
  { clientId, role: token_role, secret_version }: KeyClaims,
  now: Temporal.Instant,
): Promise<Actor> {
  const key = await findCredentials(q, clientId);
  const is_good =
    key?.role === token_role && validSecrets(key, now).some(({ version }) => version === secret_version);
  if (!key || !is_good) {
    throw new AppError(
      "unauthorized",
      "The token's API key was revoked, or its secret has ended: get another",
    );
  }
  const { id: key_id, first_key_id, company_id, role, environment } = key;
  return { kind: "key", key_id, agent_key_id: first_key_id ?? key_id, company_id, role, environment };
}
