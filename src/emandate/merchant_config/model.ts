import { type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { At, Day, Id, nullable, oneOf, strict } from "../../core/schema.ts";
import { CONNECTORS } from "../scheme/connector.ts";

const BANK_TYPES = ["B2C", "B2B1"] as const;

/** A company's account, settings and rules with the debit scheme, without its keys. */
export const MerchantConfig = Type.Object(
  {
    company_id: Id,
    scheme: Type.Literal("FPX"),
    connector: oneOf(CONNECTORS),
    exchange_id: nullable(Type.String()),
    seller_id: nullable(Type.String()),
    seller_bank_code: Type.String(),
    currency: Type.String(),
    version: Type.String(),
    callback_url: nullable(Type.String()),
    return_url: nullable(Type.String()),
    has_private_key: Type.Boolean(),
    certificate_fingerprint: nullable(
      Type.String({ description: "SHA-256 of the scheme's certificate, in hexadecimal pairs" }),
    ),
    certificate_expires_at: nullable(At),
    max_retries: Type.Integer(),
    retry_interval_days: Type.Integer(),
    first_collection_lead_days: Type.Integer(),
    suspend_after_failures: Type.Integer(),
    auto_collect: Type.Boolean({
      description: "whether runs collect due mandates, not only debits by hand",
    }),
    holidays: Type.Array(Type.String(), { description: "non-working days beside weekends" }),
    authorization_amount: Type.String(),
    updated_at: At,
  },
  { title: "MerchantConfig" },
);
export type MerchantConfig = Static<typeof MerchantConfig>;

const SchemeId = Type.String({
  pattern: "^[A-Za-z0-9]{1,10}$",
  description: "1 to 10 letters and digits, as assigned by the scheme",
});
const Url = Type.String({
  minLength: 1,
  maxLength: SHARED_LIMITS.url_length,
  description: `an https URL of at most ${SHARED_LIMITS.url_length} characters`,
});
const Pem = Type.String({
  minLength: 1,
  maxLength: LIMITS.pem_characters,
  description: `PEM text of at most ${LIMITS.pem_characters} characters`,
});

/** The fields that may be changed: omitted ones stay, null clears. */
export const UpdateEmandateConfig = strict(
  {
    connector: Type.Optional(oneOf(CONNECTORS)),
    exchange_id: Type.Optional(nullable(SchemeId)),
    seller_id: Type.Optional(nullable(SchemeId)),
    private_key_pem: Type.Optional(nullable(Pem)),
    scheme_certificate_pem: Type.Optional(nullable(Pem)),
    callback_url: Type.Optional(nullable(Url)),
    return_url: Type.Optional(nullable(Url)),
    max_retries: Type.Optional(Type.Integer({ minimum: 0, maximum: 4 })),
    retry_interval_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 7 })),
    first_collection_lead_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 })),
    suspend_after_failures: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
    auto_collect: Type.Optional(Type.Boolean()),
    holidays: Type.Optional(Type.Array(Day, { maxItems: LIMITS.emandate_holidays })),
  },
  { title: "UpdateEmandateConfig" },
);
export type UpdateEmandateConfig = Static<typeof UpdateEmandateConfig>;

/** A bank of the scheme, for one kind of account. */
export const Bank = Type.Object(
  {
    bank_code: Type.String(),
    bank_name: Type.String(),
    display_name: Type.String(),
    type: oneOf(BANK_TYPES),
    status: oneOf(["online", "offline"]),
    checked_at: nullable(At),
  },
  { title: "Bank" },
);
export type Bank = Static<typeof Bank>;

export const ListEmandateBanks = strict({ type: Type.Optional(oneOf(BANK_TYPES)) });
