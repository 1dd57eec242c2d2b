import { Type } from "@sinclair/typebox";
import { call } from "../app/operation.ts";
import { AddCompany } from "../billing/companies/model.ts";
import { addCompany, listCompanies } from "../billing/companies/service.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { Nothing } from "../core/schema.ts";
import { decode } from "../core/validate.ts";
import { action } from "../server/operator/action.ts";
import { type Command, operatorContext, optional, passwordOf, printTable, required } from "./command.ts";
import { perform } from "./perform.ts";

export const addCompanyAction = action({
  name: "add_company",
  input: AddCompany,
  output: addCompany.output,
  opens: { without_usage: true },
  run: (deps, input) => call(operatorContext(deps), addCompany, input),
});

export const listCompaniesAction = action({
  name: "list_companies",
  input: Nothing,
  output: Type.Object({ companies: listCompanies.output }),
  opens: { without_usage: true },
  run: async (deps) => ({ companies: await call(operatorContext(deps), listCompanies, {}) }),
});

export const company: Command = {
  name: "company",
  summary: "Add a company with its first admin, or list the companies",
  help: `Usage: bun src/main.ts company add --name NAME --admin-email EMAIL [OPTIONS]
       bun src/main.ts company list

  --admin-password PASSWORD  at least 12 characters; made up and printed when left out
  --timezone ZONE            IANA zone in which bills are cut (UTC)
  --currency CODE            ISO 4217 code of new billing models (USD)

Works beside a running server.`,
  operands: 1,
  choices: ["add", "list"],
  remote: true,
  options: {
    name: { type: "string" },
    "admin-email": { type: "string" },
    "admin-password": { type: "string" },
    timezone: { type: "string" },
    currency: { type: "string" },
  },
  async run(words) {
    const [verb] = words.positionals;
    if (verb !== "add" && verb !== "list") throw wrongWords("Say `company add` or `company list`");
    if (verb === "list") {
      const { companies } = await perform(words, listCompaniesAction, {});
      const rows = companies.map(({ id, name, timezone, currency }) => ({ id, name, timezone, currency }));
      return printTable(rows, ["id", "name", "timezone", "currency"]);
    }
    const { password: admin_password, notice } = passwordOf(words, "admin-password");
    const timezone = optional(words, "timezone");
    const currency = optional(words, "currency");
    const input = decode(AddCompany, {
      name: required(words, "name"),
      admin_email: required(words, "admin-email"),
      admin_password,
      ...(timezone === undefined ? {} : { timezone }),
      ...(currency === undefined ? {} : { currency }),
    });
    const added = await perform(words, addCompanyAction, input);
    console.log(`Added company ${added.id} (${added.name}); admin ${input.admin_email}${notice}`);
  },
};
