import { AppError } from "../../core/errors.ts";
import { isSealed, type Secrets } from "../../core/secret_box.ts";
import type { SigningSecret } from "./model.ts";

/** The additional authenticated data of a company's signing secrets. */
const sealingContext = (company_id: number) => `webhooks/${company_id}/secret`;

/** A secret as it is stored: sealed, or in plain text where the deployment has no key. Decision 0061. */
export function toStore(secrets: Secrets, company_id: number, secret: string): string {
  return secrets.can_seal ? secrets.seal(secret, sealingContext(company_id)) : secret;
}

/** The plain text of a stored secret. Errors: conflict when no key opens it. */
function fromStore(secrets: Secrets, company_id: number, stored: string): string {
  return isSealed(stored) ? secrets.open(stored, sealingContext(company_id)) : stored;
}

/** The plain texts of stored secrets, without those that no key opens, and the error of one of these. */
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
 * Seals secrets with the newest key, except those that no key opens; null where nothing changes. Also returns the
 * error of one that no key opens.
 */
export function resealSecrets(
  secrets: Secrets,
  company_id: number,
  signing: readonly SigningSecret[],
): { resealed: SigningSecret[] | null; problem: AppError | undefined } {
  let problem: AppError | undefined;
  const resealed = signing.map((current) => {
    const found = openSecrets(secrets, company_id, [current.secret]);
    problem ??= found.problem;
    if (found.opened.length === 0) return current;
    return { ...current, secret: reseal(secrets, company_id, current.secret) };
  });
  const is_changed = resealed.some(({ secret }, i) => secret !== signing[i]?.secret);
  return { resealed: is_changed ? resealed : null, problem };
}

function reseal(secrets: Secrets, company_id: number, stored: string): string {
  const context = sealingContext(company_id);
  return isSealed(stored) ? (secrets.reseal(stored, context) ?? stored) : secrets.seal(stored, context);
}
