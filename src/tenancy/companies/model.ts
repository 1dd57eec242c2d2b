import { type Static, Type } from "@sinclair/typebox";
import { At, Id, Name, strict } from "../../core/schema.ts";

/** Normalised to its usual spelling: `asia/kathmandu` becomes `Asia/Kathmandu`. */
export const TimeZone = Type.Transform(
  Type.String({ format: "time-zone", description: "an IANA time zone such as Asia/Kuala_Lumpur" }),
)
  .Decode((text) => Temporal.Now.zonedDateTimeISO(text).timeZoneId)
  .Encode((text) => text);
export const Currency = Type.String({
  format: "currency",
  description: "an ISO 4217 currency code such as EUR",
});

export const Company = Type.Object(
  {
    id: Id,
    name: Type.String(),
    timezone: Type.String(),
    currency: Type.String(),
    created_at: At,
    updated_at: At,
  },
  { title: "Company" },
);
export type Company = Static<typeof Company>;

export const UpdateCompany = strict(
  { name: Name, timezone: TimeZone, currency: Currency },
  { title: "UpdateCompany" },
);
