import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import {
  At,
  Id,
  nullable,
  pageFieldsUpTo,
  Search,
  sortedBy,
  strict,
  trimmedText,
} from "../../core/schema.ts";

/** A name in the form that the scheme accepts. */
export const CustomerName = trimmedText(LIMITS.emandate_customer_name_length, { one_line: true });

/** The account holder to debit, created with the first mandate. */
export const EmandateCustomer = Type.Object(
  {
    id: Id,
    company_id: Id,
    name: Type.String(),
    email: Type.String(),
    phone: nullable(Type.String({ description: "E.164" })),
    ic_number: nullable(
      Type.String({ description: "12 digits in the customer's own detail, masked everywhere else" }),
    ),
    mandate_count: Type.Integer(),
    active_mandate_count: Type.Integer(),
    created_at: At,
    updated_at: At,
  },
  { title: "EmandateCustomer" },
);
export type EmandateCustomer = Static<typeof EmandateCustomer>;

/** A customer's data in a request for a mandate; a later request may fill in the rest. */
export interface CustomerInput {
  name: string;
  email: string;
  phone?: string | undefined;
  ic_number?: string | undefined;
}

export const ListEmandateCustomers = strict({
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "email", "created_at"]),
  ...pageFieldsUpTo(LIMITS.emandate_page_limit),
});
