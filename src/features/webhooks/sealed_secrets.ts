import { isSealed, type Secrets } from "../../core/sealing.ts";
import type { SigningSecret } from "./model.ts";

/** Where in the database the secrets of a company's endpoints are sealed for. */
const placeOf = (company_id: number) => `webhooks/${company_id}/secret`;

/** A secret as it is stored: sealed, or as it is where the deployment has no key. Decision 0061. */
export function toStore(secrets: Secrets, company_id: number, secret: string): string {
  return secrets.can_seal ? secrets.seal(secret, placeOf(company_id)) : secret;
}

/** A stored secret as it signs. Errors: conflict when no key opens it. */
export function fromStore(secrets: Secrets, company_id: number, stored: string): string {
  return isSealed(stored) ? secrets.open(stored, placeOf(company_id)) : stored;
}

/** The same secrets under the newest key; null where nothing is to be done. Errors: conflict when no key opens one. */
export function resealed(
  secrets: Secrets,
  company_id: number,
  signing: readonly SigningSecret[],
): SigningSecret[] | null {
  if (!secrets.can_seal) return null;
  const fresh = signing.map(({ secret, ends_at }) => {
    const place = placeOf(company_id);
    const sealed = isSealed(secret) ? secrets.reseal(secret, place) : secrets.seal(secret, place);
    return { secret: sealed ?? secret, ends_at };
  });
  return fresh.some(({ secret }, i) => secret !== signing[i]?.secret) ? fresh : null;
}
