import { call } from "../src/app/operation.ts";
import { AddCompany } from "../src/billing/companies/model.ts";
import { addCompany } from "../src/billing/companies/service.ts";
import { operatorContext } from "../src/cli/command.ts";
import { readConfig } from "../src/core/config.ts";
import { decode } from "../src/core/validate.ts";
import { openDeps } from "../src/server/open_deps.ts";
import { PASSWORD } from "./service.ts";

/** Adds companies as the command line does: the service has no route for it. The service must not run. */
export async function addCompanies(
  data_dir: string,
  names: readonly string[],
  timezone = "UTC",
): Promise<{ id: number; email: string }[]> {
  const deps = await openDeps(readConfig({ DATA_DIR: data_dir, LOG_LEVEL: "warn" }), { without_usage: true });
  try {
    const added: { id: number; email: string }[] = [];
    for (const name of names) {
      const email = `${name}@example.com`;
      const input = decode(AddCompany, { name, timezone, admin_email: email, admin_password: PASSWORD });
      const { id } = await call(operatorContext(deps), addCompany, input);
      added.push({ id, email });
    }
    return added;
  } finally {
    await deps.close();
  }
}
