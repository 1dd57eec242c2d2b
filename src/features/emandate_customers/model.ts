import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable } from "../../core/schema.ts";

/** Who is debited, made with the first mandate. Source: emandate.md, Records. */
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
