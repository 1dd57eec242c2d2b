import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { invalid, orNotFound } from "../../core/errors.ts";
import { Nothing } from "../../core/schema.ts";
import type { Queries, Reads, ReadTx } from "../../store/store.ts";
import { findStoredModels } from "../billing_models/queries.ts";
import { checkPurpose } from "../billing_models/rules.ts";
import { followZones } from "../billing_model_changes/follow_time_zones.ts";
import { insertUser } from "../../access/users/queries.ts";
import { checkPassword } from "../../access/users/rules.ts";
import { AddCompany } from "./model.ts";
import { Company, UpdateCompany } from "../../tenancy/companies/model.ts";
import * as queries from "../../tenancy/companies/queries.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Finds the company of the signed-in user. */
export const getCompany = operation({
  name: "get_company",
  permission: "company:read",
  input: Nothing,
  output: Company,
  async run(ctx) {
    const tx = readTx(ctx);
    return orNotFound(await queries.findCompany(tx), "Company", tx.scope.company_id);
  },
});

/**
 * Updates the company. A new time zone applies from the next billing period, also to ends and downgrades that wait for
 * it (decision 0133). Errors: invalid for a plan of `self_service` that nobody could choose.
 */
export const updateCompany = operation({
  name: "update_company",
  permission: "company:write",
  input: UpdateCompany,
  output: Company,
  run: (ctx, change) =>
    transaction(ctx, async (tx) => {
      const { company_id } = tx.scope;
      const before = orNotFound(await queries.findCompany(tx), "Company", company_id);
      await checkPlans(tx, change.self_service?.plans ?? []);
      const company = orNotFound(await queries.updateCompany(tx, change), "Company", company_id);
      ctx.annotateAudit({ before, after: company });
      if (before.timezone !== company.timezone) {
        await queries.insertTimezone(tx, company.timezone);
        await followZones(tx);
      }
      return company;
    }),
});

/** Errors: invalid for the first id that is no model which clients may choose. */
async function checkPlans(tx: ReadTx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const models = await findStoredModels(tx, ids);
  for (const [i, id] of ids.entries()) {
    const path = `/self_service/plans/${i}`;
    const model = models.get(id);
    if (model?.status !== "active") throw invalid(path, "names no active billing model of this company");
    checkPurpose(path, model.purpose);
  }
}

/** Lists every company of the deployment, by id. */
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
    const password_hash = await hashAdminPassword(ctx, input);
    return ctx.store.tx((q) => insertWithAdmin(q, ctx, input, password_hash));
  },
});

/** Adds the deployment's first company, unless there is one; of concurrent instances only one does. */
export const foundCompany = operation({
  name: "found_company",
  permission: "companies:write",
  input: AddCompany,
  output: Type.Object({ founded: Type.Boolean() }),
  async run(ctx, input) {
    const password_hash = await hashAdminPassword(ctx, input);
    try {
      return await ctx.store.tx(async (q) => {
        if (await hasCompany(q)) return { founded: false };
        await insertWithAdmin(q, ctx, input, password_hash);
        return { founded: true };
      });
    } catch (error) {
      // The other instance's admin may be visible before its company is: both are there by now.
      if (await hasCompany(ctx.store.read)) return { founded: false };
      throw error;
    }
  },
});

async function hasCompany(q: Reads): Promise<boolean> {
  return (await queries.listCompanies(q)).length > 0;
}

/** Errors: invalid for a password that breaks the policy. */
function hashAdminPassword(
  { passwords }: Context,
  { admin_password, admin_email }: AddCompany,
): Promise<string> {
  checkPassword("/admin_password", admin_password, admin_email);
  return passwords.hash(admin_password);
}

async function insertWithAdmin(
  q: Queries,
  { now, annotateAudit }: Context,
  { name, admin_email: email, timezone = "UTC", currency = "USD" }: AddCompany,
  password_hash: string,
): Promise<Company> {
  const company = await queries.insertCompany(q, now, { name, timezone, currency });
  const tx = { q, scope: { company_id: company.id }, now };
  await insertUser(tx, { email, name: null, role: "admin", client_id: null, password_hash });
  annotateAudit({ company_id: company.id, target: { type: "company", id: company.id } });
  return company;
}
