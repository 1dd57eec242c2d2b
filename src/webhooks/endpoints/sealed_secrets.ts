import { AppError } from "../../core/errors.ts";
import { isSealed, type Secrets } from "../../core/secret_box.ts";
import type { SigningSecret } from "./model.ts";

/** Where in the database the secrets of a company's endpoints are sealed for. */
const sealingContext = (company_id: number) => `webhooks/${company_id}/secret`;

/** A secret as it is stored: sealed, or as it is where the deployment has no key. Decision 0061. */
export function toStore(secrets: Secrets, company_id: number, secret: string): string {
  return secrets.can_seal ? secrets.seal(secret, sealingContext(company_id)) : secret;
}

/** A stored secret as it signs. Errors: conflict when no key opens it. */
function fromStore(secrets: Secrets, company_id: number, stored: string): string {
  return isSealed(stored) ? secrets.open(stored, sealingContext(company_id)) : stored;
}

/** Those of the stored secrets that a key opens, as they sign, and what is wrong with one of the others. */
export function openSecrets(
  secrets: Secrets,
  company_id: number,
  stored: readonly string[],
): { opened: string[]; problem: AppError | undefined } {
  const opened: string[] = [];
  let problem: AppError | undefined;
  for (const secret of stored) {
    try {
      opened.push(fromStore(secrets, company_id, secret));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      problem = error;
    }
  }
  return { opened, problem };
}

/**
 * The same secrets under the newest key, those aside that no key opens; null where nothing is to be done. And what is
 * wrong with one of the others.
 */
export function resealed(
  secrets: Secrets,
  company_id: number,
  signing: readonly SigningSecret[],
): { fresh: SigningSecret[] | null; problem: AppError | undefined } {
  let problem: AppError | undefined;
  const fresh = signing.map((one) => {
    const found = openSecrets(secrets, company_id, [one.secret]);
    problem ??= found.problem;
    const [secret] = found.opened;
    return secret === undefined ? one : { ...one, secret: sealedNewly(secrets, company_id, one.secret) };
  });
  return { fresh: fresh.some(({ secret }, i) => secret !== signing[i]?.secret) ? fresh : null, problem };
}

function sealedNewly(secrets: Secrets, company_id: number, stored: string): string {
  const place = sealingContext(company_id);
  return isSealed(stored) ? (secrets.reseal(stored, place) ?? stored) : secrets.seal(stored, place);
}
