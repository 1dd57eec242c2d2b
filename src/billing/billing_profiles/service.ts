import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { orNotFound } from "../../core/errors.ts";
import { FieldErrors } from "../../core/field_errors.ts";
import { ById } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import { findClient } from "../../tenancy/clients/queries.ts";
import { findCompany } from "../../tenancy/companies/queries.ts";
import { aboveZero } from "../billing_models/price_rules.ts";
import { BillingProfile, SaveBillingProfile } from "./model.ts";
import * as queries from "./queries.ts";

/** Finds how a client is billed; where nothing was saved, as every client is. Errors: not_found. */
export const getBillingProfile = operation({
  name: "get_billing_profile",
  permission: "clients:read",
  input: ById,
  output: BillingProfile,
  run: (ctx, { id }) => profileOf(readTx(ctx), id),
});

/**
 * Saves how a client is billed; what is left out is as for every client, and `currency` the company's. Errors:
 * not_found, invalid. Decision 0244.
 */
export const saveBillingProfile = operation({
  name: "save_billing_profile",
  permission: "clients:write",
  target: "client",
  input: SaveBillingProfile,
  output: BillingProfile,
  run: (ctx, { id, interim_at: given = null, currency }) =>
    transaction(ctx, async (tx) => {
      const before = await profileOf(tx, id);
      const errors = new FieldErrors();
      const interim_at = given === null ? null : errors.decimal(given, "/interim_at");
      errors.refuse();
      errors.add(...aboveZero("/interim_at", interim_at));
      errors.refuse();
      const profile = { client_id: id, interim_at, currency: currency ?? (await currencyOf(tx)) };
      const after = await queries.saveBillingProfile(tx, profile);
      ctx.annotateAudit({ before, after });
      return after;
    }),
});

async function profileOf(tx: ReadTx, client_id: number): Promise<BillingProfile> {
  orNotFound(await findClient(tx, client_id), "Client", client_id);
  const saved = await queries.findBillingProfile(tx, client_id);
  return saved ?? { client_id, interim_at: null, currency: await currencyOf(tx) };
}

async function currencyOf(tx: ReadTx): Promise<string> {
  const company = await findCompany(tx);
  if (!company) throw new Error("Cannot read a billing profile: its company is not there");
  return company.currency;
}
