import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { notFound } from "../../core/errors.ts";
import { Nothing } from "../../core/schema.ts";
import type { Queries } from "../../store/store.ts";
import { followZones } from "../billing_model_changes/follow_time_zones.ts";
import { insertUser } from "../../access/users/queries.ts";
import { checkPassword } from "../../access/users/rules.ts";
import { AddCompany } from "./model.ts";
import { Company, UpdateCompany } from "../../tenancy/companies/model.ts";
import * as queries from "../../tenancy/companies/queries.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** The company of the signed-in user. */
export const getCompany = operation({
  name: "get_company",
  permission: "company:read",
  input: Nothing,
  output: Company,
  async run(ctx) {
    const scope = scopeOf(ctx.actor);
    const company = await queries.findCompany(readTx(ctx));
    if (!company) throw notFound("Company", scope.company_id);
    return company;
  },
});

/**
 * Changes the company. A new time zone counts from the next billing period, also for ends and downgrades that wait
 * for it (decision 0133), a new currency for billing models made from now on.
 */
export const updateCompany = operation({
  name: "update_company",
  permission: "company:write",
  input: UpdateCompany,
  output: Company,
  run: (ctx, change) =>
    transaction(ctx, async (tx) => {
      const before = await queries.findCompany(tx);
      const company = await queries.updateCompany(tx, change);
      if (!before || !company) throw notFound("Company", tx.scope.company_id);
      ctx.annotateAudit({ before, after: company });
      if (before.timezone !== company.timezone) {
        await queries.insertTimezone(tx, company.timezone);
        await followZones(tx);
      }
      return company;
    }),
});

/** Every company of the deployment, by id. */
export const listCompanies = operation({
  name: "list_companies",
  permission: "companies:read",
  input: Nothing,
  output: Type.Array(Company),
  run: ({ store }) => queries.listCompanies(store.read),
});

/** Adds a company with its first admin. Errors: invalid. */
export const addCompany = operation({
  name: "add_company",
  permission: "companies:write",
  input: AddCompany,
  output: Company,
  async run(ctx, input) {
    checkPassword("/admin_password", input.admin_password, input.admin_email);
    const password_hash = await ctx.passwords.hash(input.admin_password);
    return ctx.store.tx((q) => insertWithAdmin(q, ctx, input, password_hash));
  },
});

/** Adds the deployment's first company, unless there is one: of instances that start together one does. */
export const foundCompany = operation({
  name: "found_company",
  permission: "companies:write",
  input: AddCompany,
  output: Type.Object({ founded: Type.Boolean() }),
  async run(ctx, input) {
    const { store, passwords } = ctx;
    checkPassword("/admin_password", input.admin_password, input.admin_email);
    const password_hash = await passwords.hash(input.admin_password);
    const found = async (q: Queries) => {
      if ((await queries.listCompanies(q)).length > 0) return { founded: false };
      await insertWithAdmin(q, ctx, input, password_hash);
      return { founded: true };
    };
    try {
      return await store.tx(found);
    } catch (error) {
      // The other instance's admin may be seen before its company is: both are there by now.
      if ((await queries.listCompanies(store.read)).length > 0) return { founded: false };
      throw error;
    }
  },
});

async function insertWithAdmin(
  q: Queries,
  { now, annotateAudit }: Context,
  { name, admin_email: email, timezone = "UTC", currency = "USD" }: AddCompany,
  password_hash: string,
): Promise<Company> {
  const company = await queries.insertCompany(q, now, { name, timezone, currency });
  await insertUser(
    { q, scope: { company_id: company.id }, now },
    {
      email,
      name: null,
      role: "admin",
      client_id: null,
      password_hash,
    },
  );
  annotateAudit({ company_id: company.id, target: { type: "company", id: company.id } });
  return company;
}
