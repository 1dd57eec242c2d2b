import { sql } from "drizzle-orm";
import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import type { Entitlement } from "../features/entitlement_model.ts";
import type { AddOnCharge } from "./model.ts";

export const addOnTable = (k: ColumnKit) =>
  k.table(
    "add_ons",
    {
      id: k.id(),
      ...companyColumn(k),
      code: k.text("code").notNull(),
      name: k.text("name").notNull(),
      currency: k.text("currency").notNull(),
      charge: k.json<AddOnCharge>("charge").notNull(),
      entitlements: k.json<Entitlement[]>("entitlements").notNull().default([]),
      /** A deleted add-on is archived: bills refer to it. */
      status: k.enumeration("status", ["active", "archived"]).notNull(),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("add_ons_code").on(t.company_id, t.code).where(sql`status = 'active'`)],
  );

export const ADD_ON_CONSTRAINTS = {
  add_ons_code: () => invalid("/code", "is already used by another add-on of this company"),
};
