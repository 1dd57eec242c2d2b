import { call } from "../app/operation.ts";
import { ROLES } from "../core/access.ts";
import { decode } from "../core/validate.ts";
import { CreateUser } from "../access/users/model.ts";
import { createUser, listUsers } from "../access/users/service.ts";
import { listCompanies } from "../billing/companies/service.ts";
import { wrongWords } from "../core/exit_codes.ts";
import {
  type Command,
  commandContext,
  operatorContext,
  passwordOf,
  printTable,
  required,
  requiredId,
  withDeps,
} from "./command.ts";

export const user: Command = {
  name: "user",
  summary: "Add a user to a company, or list its users",
  help: `Usage: bun src/main.ts user add --company ID --email EMAIL --role ROLE [OPTIONS]
       bun src/main.ts user list --company ID

  --role ROLE          ${ROLES.join(", ")}
  --password PASSWORD  at least 12 characters; made up and printed when left out
  --client-id ID       the client of a user with the role client

Works beside a running server.`,
  operands: 1,
  options: {
    company: { type: "string" },
    email: { type: "string" },
    role: { type: "string" },
    password: { type: "string" },
    "client-id": { type: "string" },
  },
  async run(words) {
    const [verb] = words.positionals;
    if (verb !== "add" && verb !== "list") throw wrongWords("Say `user add` or `user list`");
    const company_id = requiredId(words, "company");
    await withDeps(
      async (deps) => {
        const companies = await call(operatorContext(deps), listCompanies, {});
        if (!companies.some(({ id }) => id === company_id))
          throw wrongWords(`--company ${company_id} is no company`);
        const ctx = commandContext(deps, company_id);
        if (verb === "list") {
          const { data } = await call(ctx, listUsers, {});
          return printTable(data, ["id", "email", "role", "client_id"]);
        }
        const { password, notice } = passwordOf(words, "password");
        const input = decode(CreateUser, {
          email: required(words, "email"),
          role: required(words, "role"),
          password,
          ...(words.values["client-id"] === undefined ? {} : { client_id: requiredId(words, "client-id") }),
        });
        const added = await call(ctx, createUser, input);
        console.log(`Added user ${added.id} (${added.email}, ${added.role})${notice}`);
      },
      { without_usage: true },
    );
  },
};
