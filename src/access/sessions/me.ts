import type { Static } from "@sinclair/typebox";
import { permissionsOf } from "../../core/access.ts";
import { notFound } from "../../core/errors.ts";
import type { Reads } from "../../store/store.ts";
import { findCompany } from "../../tenancy/companies/queries.ts";
import type { Account } from "../users/queries.ts";
import type { Me } from "./model.ts";

/** What a signed-in user is told of itself. */
export async function meOf(
  { q, now }: { q: Reads; now: Temporal.Instant },
  account: Account,
): Promise<Static<typeof Me>> {
  const { password_hash: _, token_version: __, ...user } = account;
  const { company_id, role } = user;
  const company = await findCompany({ q, now, scope: { company_id } });
  if (!company) throw notFound("Company", company_id);
  const { id, name, timezone, currency } = company;
  return {
    ...user,
    permissions: permissionsOf(role),
    timezone,
    company: { id, name, timezone, currency },
  };
}
