import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import type { SigningSecret } from "./model.ts";

export const webhookTable = (k: ColumnKit) =>
  k.table(
    "webhooks",
    {
      id: k.id(),
      ...companyColumn(k),
      url: k.text("url").notNull(),
      event_types: k.json<string[]>("event_types").notNull(),
      description: k.text("description"),
      status: k.enumeration("status", ["active", "disabled"]).notNull(),
      disabled_reason: k.text("disabled_reason"),
      /** Sealed with SECRETS_KEY where there is one: decision 0061. Emptied when the endpoint is deleted. */
      secrets: k.json<SigningSecret[]>("secrets").notNull(),
      /** Deleted endpoints keep their row: logs refer to it. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [k.index("webhooks_company").on(t.company_id, t.id)],
  );
