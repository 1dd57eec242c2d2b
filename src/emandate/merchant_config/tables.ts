import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyTable } from "../../tenancy/companies/tables.ts";
import { CONNECTORS, type SchemeBank } from "../scheme/connector.ts";

/** A company without a row has the defaults of rules.ts. */
export const emandateConfigTable = (k: ColumnKit) =>
  k.table(
    "emandate_configs",
    {
      company_id: k.ref("company_id", companyTable).primaryKey(),
      connector: k.enumeration("connector", CONNECTORS).notNull(),
      exchange_id: k.text("exchange_id"),
      seller_id: k.text("seller_id"),
      /** Encrypted with SECRETS_KEY: decision 0090. */
      private_key_sealed: k.text("private_key_sealed"),
      scheme_certificate_pem: k.text("scheme_certificate_pem"),
      callback_url: k.text("callback_url"),
      return_url: k.text("return_url"),
      max_retries: k.integer("max_retries").notNull(),
      retry_interval_days: k.integer("retry_interval_days").notNull(),
      first_collection_lead_days: k.integer("first_collection_lead_days").notNull(),
      suspend_after_failures: k.integer("suspend_after_failures").notNull(),
      auto_collect: k.boolean("auto_collect").notNull(),
      holidays: k.json<string[]>("holidays").notNull(),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("emandate_configs_seller").on(t.exchange_id, t.seller_id)],
  );

/** A company's last bank list from the scheme, and when it was last requested. */
export const emandateBankListTable = (k: ColumnKit) =>
  k.table("emandate_bank_lists", {
    company_id: k.ref("company_id", companyTable).primaryKey(),
    banks: k.json<SchemeBank[]>("banks").notNull(),
    asked_at: k.at("asked_at").notNull(),
    /** Null before the scheme's first response. */
    checked_at: k.at("checked_at"),
  });

export const EMANDATE_CONFIG_CONSTRAINTS = {
  emandate_configs_seller: () =>
    new AppError(
      "conflict",
      "Cannot use this exchange_id and seller_id: another company of this deployment has them; ask its operator",
    ),
};
