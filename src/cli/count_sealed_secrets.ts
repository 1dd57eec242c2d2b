import type { Deps } from "../app/deps.ts";
import { call } from "../app/operation.ts";
import { AppError } from "../core/errors.ts";
import { isSealed } from "../core/secret_box.ts";
import { listCompanies } from "../billing/companies/service.ts";
import { keyPlace } from "../emandate/merchant_config/open_connector.ts";
import { findConfig } from "../emandate/merchant_config/queries.ts";
import { listSecrets } from "../webhooks/endpoints/queries.ts";
import { signingSecrets } from "../webhooks/endpoints/rules.ts";
import { openSecrets } from "../webhooks/endpoints/sealed_secrets.ts";
import { operatorContext } from "./command.ts";

/** How many sealed secrets the database holds that are used still, and how many of them a key opens. */
export async function countSealed(deps: Deps): Promise<{ sealed: number; opened: number }> {
  const { store, secrets, clock } = deps;
  const counts = { sealed: 0, opened: 0 };
  for (const { id: company_id } of await call(operatorContext(deps), listCompanies, {})) {
    const scope = { company_id };
    const signing = (await listSecrets({ q: store.read, scope, now: clock.now() }))
      .flatMap((endpoint) => signingSecrets(endpoint.secrets, clock.now()))
      .filter(isSealed);
    counts.sealed += signing.length;
    counts.opened += openSecrets(secrets, company_id, signing).opened.length;
    const { private_key_sealed } = await findConfig({ q: store.read, scope, now: clock.now() });
    if (private_key_sealed === null) continue;
    counts.sealed++;
    if (opens(deps, private_key_sealed, keyPlace(company_id))) counts.opened++;
  }
  return counts;
}

function opens({ secrets }: Deps, sealed: string, place: string): boolean {
  try {
    secrets.open(sealed, place);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}
