import { call } from "../app/operation.ts";
import { wrongWords } from "../core/exit_codes.ts";
import type { Deps } from "../app/deps.ts";
import { listCompanies } from "../billing/companies/service.ts";
import type { HeldDebits } from "../emandate/holds/model.ts";
import { findHeldDebits, resumeCollections } from "../emandate/holds/service.ts";
import { type Command, commandContext, operatorContext, optional, requiredId, withDeps } from "./command.ts";

export const collections: Command = {
  name: "collections",
  summary: "Release the debits that wait since a restore",
  help: `Usage: bun src/main.ts collections resume [--company ID] [--yes]

After a restore no debit goes out: those sent after the point are unknown, and would be sent twice. Compare with the
bank first, cancel the payments that it has made, and then release the rest.

Says what would be released, for every company or one; --yes releases it. Works beside a running server.

  --company ID  one company's only
  --yes         releases`,
  operands: 1,
  choices: ["resume"],
  options: { company: { type: "string" }, yes: { type: "boolean" } },
  async run(words) {
    if (words.positionals[0] !== "resume") throw wrongWords("Say `collections resume`");
    const only = optional(words, "company") === undefined ? undefined : requiredId(words, "company");
    await withDeps((deps) => resume(deps, only, words.values.yes === true), { without_usage: true });
  },
};

async function resume(deps: Deps, only: number | undefined, is_sure: boolean): Promise<void> {
  const companies = await call(operatorContext(deps), listCompanies, {});
  const chosen = companies.filter(({ id }) => only === undefined || id === only);
  if (only !== undefined && chosen.length === 0) throw new Error(`There is no company ${only}`);
  let held = 0;
  for (const { id, name } of chosen) {
    const ctx = commandContext(deps, id);
    const found = await call(ctx, findHeldDebits, {});
    if (!found) continue;
    held++;
    console.log(`${is_sure ? "Released" : "Held"}: company ${id} (${name}), ${describe(found)}`);
    if (is_sure) await call(ctx, resumeCollections, {});
  }
  if (held === 0) console.log("No debits are held");
  else if (!is_sure) throw new Error("Nothing was released: --yes releases it");
}

function describe({ reason, due, due_amount, due_mandates, has_unfiled }: HeldDebits): string {
  const unfiled = has_unfiled ? ", and debits made for a bank's file that are in none" : "";
  return `since ${reason}: ${due} debits due of MYR ${due_amount}, ${due_mandates} mandates due for collection${unfiled}`;
}
