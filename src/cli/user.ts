import { type Static, Type } from "@sinclair/typebox";
import { CreateUser, User } from "../access/users/model.ts";
import { createUser, listUsers } from "../access/users/service.ts";
import type { Deps } from "../app/deps.ts";
import { call } from "../app/operation.ts";
import { listCompanies } from "../billing/companies/service.ts";
import { ROLES } from "../core/access.ts";
import type { Context } from "../app/context.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { Id, strict } from "../core/schema.ts";
import { decode } from "../core/validate.ts";
import { action } from "../server/operator/action.ts";
import {
  type Command,
  commandContext,
  operatorContext,
  passwordOf,
  printTable,
  required,
  requiredId,
} from "./command.ts";
import { perform } from "./perform.ts";

export const addUserAction = action({
  name: "add_user",
  input: strict({ company_id: Id, user: CreateUser }),
  output: User,
  opens: { without_usage: true },
  run: async (deps, { company_id, user: added }) =>
    call(await contextOf(deps, company_id), createUser, added),
});

export const listUsersAction = action({
  name: "list_users",
  input: strict({ company_id: Id }),
  output: Type.Object({ users: Type.Array(User) }),
  opens: { without_usage: true },
  async run(deps, { company_id }): Promise<{ users: Static<typeof User>[] }> {
    const { data } = await call(await contextOf(deps, company_id), listUsers, {});
    return { users: data };
  },
});

async function contextOf(deps: Deps, company_id: number): Promise<Context> {
  const companies = await call(operatorContext(deps), listCompanies, {});
  if (!companies.some(({ id }) => id === company_id))
    throw wrongWords(`--company ${company_id} is no company`);
  return commandContext(deps, company_id);
}

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
  choices: ["add", "list"],
  remote: true,
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
    if (verb === "list") {
      const { users } = await perform(words, listUsersAction, { company_id });
      return printTable(users, ["id", "email", "role", "client_id"]);
    }
    const { password, notice } = passwordOf(words, "password");
    const input = decode(CreateUser, {
      email: required(words, "email"),
      role: required(words, "role"),
      password,
      ...(words.values["client-id"] === undefined ? {} : { client_id: requiredId(words, "client-id") }),
    });
    const added = await perform(words, addUserAction, { company_id, user: input });
    console.log(`Added user ${added.id} (${added.email}, ${added.role})${notice}`);
  },
};
