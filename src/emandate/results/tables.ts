import type { ColumnKit } from "../../store/columns.ts";
import { companyTable } from "../../tenancy/companies/tables.ts";
import { CALLBACK_OUTCOMES } from "./model.ts";

/** The callbacks of the scheme, refused ones included. */
export const schemeCallbackTable = (k: ColumnKit) =>
  k.table(
    "scheme_callbacks",
    {
      id: k.id(),
      /** Null where the order is of no company. */
      company_id: k.ref("company_id", companyTable),
      received_at: k.at("received_at").notNull(),
      address: k.text("address"),
      order_no: k.text("order_no"),
      /** SHA-256 of the body. */
      digest: k.text("digest").notNull(),
      response_code: k.text("response_code"),
      outcome: k.enumeration("outcome", CALLBACK_OUTCOMES).notNull(),
      reason: k.text("reason"),
    },
    (t) => [
      k.index("scheme_callbacks_order").on(t.order_no),
      k.index("scheme_callbacks_time").on(t.received_at),
    ],
  );
