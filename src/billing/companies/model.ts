import { type Static, Type } from "@sinclair/typebox";
import { Password } from "../../access/users/model.ts";
import { Email, Name, strict } from "../../core/schema.ts";
import { Currency, TimeZone } from "../../tenancy/companies/model.ts";

/** A new company, with its first admin. */
export const AddCompany = strict({
  name: Name,
  admin_email: Email,
  admin_password: Password,
  timezone: Type.Optional(TimeZone),
  currency: Type.Optional(Currency),
});
export type AddCompany = Static<typeof AddCompany>;
