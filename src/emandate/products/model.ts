import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { FREQUENCIES } from "../schedule.ts";
import { fromMinorUnits, compare, type Decimal, toMinorUnits } from "../../core/money.ts";
import { At, Id, oneOf, pageFieldsUpTo, Search, sortedBy, strict, trimmedText } from "../../core/schema.ts";

/** The scheme's codes of `FREQUENCIES`, in the same order. */
export const FREQUENCY_MODES = ["DL", "WK", "MT", "YR"] as const;
export type FrequencyMode = (typeof FREQUENCY_MODES)[number];

/** Schema of an amount of MYR in a request: text, never a number; decoded to "100.00". */
export function amountUpTo(max: Decimal) {
  const min = LIMITS.emandate_amount_min;
  const format = `amount up to ${max}`;
  const pattern = /^\d{1,7}(\.\d{1,2})?$/;
  FormatRegistry.Set(
    format,
    (text) => pattern.test(text) && compare(text, min) >= 0 && compare(text, max) <= 0,
  );
  const description = `an amount of MYR as text, from "${min}" to "${max}"`;
  const shown = { type: "string", pattern: pattern.source, description };
  return Type.Transform(Type.String({ format, description, "x-schema": shown }))
    .Decode((text) => fromMinorUnits(toMinorUnits(text)))
    .Encode((text) => text);
}

/** An amount up to the scheme's limit for personal accounts. */
export const Amount = amountUpTo(LIMITS.emandate_amount_max);

/** Schema of an amount of MYR in a response. */
export const AmountAnswer = Type.String({ description: 'MYR, such as "100.00"' });

/** The template of a mandate: the largest amount, the frequency, the number of debits. */
export const EmandateProduct = Type.Object(
  {
    id: Id,
    company_id: Id,
    product_code: Type.String(),
    product_name: Type.String(),
    max_amount: AmountAnswer,
    max_no_debit: Type.String({ description: "debits in a calendar period of the frequency" }),
    frequency: oneOf(FREQUENCIES),
    frequency_mode: oneOf(FREQUENCY_MODES),
    is_active: Type.Boolean(),
    created_at: At,
    updated_at: At,
  },
  { title: "EmandateProduct" },
);
export type EmandateProduct = Static<typeof EmandateProduct>;

export const ListEmandateProducts = strict({
  search: Type.Optional(Search),
  is_active: Type.Optional(Type.Boolean()),
  sort: sortedBy(["id", "product_name", "product_code", "max_amount", "created_at"]),
  ...pageFieldsUpTo(LIMITS.emandate_page_limit),
});

export const CreateEmandateProduct = strict(
  {
    product_code: Type.String({
      pattern: "^[A-Za-z0-9_-]{1,30}$",
      description: "1 to 30 letters, digits, _ and -",
    }),
    product_name: trimmedText(LIMITS.emandate_product_name_length),
    max_amount: Amount,
    max_no_debit: Type.Optional(
      Type.String({ pattern: "^[1-9][0-9]{0,2}$", description: 'a whole number as text, from "1" to "999"' }),
    ),
    frequency: oneOf(FREQUENCIES),
  },
  { title: "CreateEmandateProduct" },
);

/** A full replacement, except that an omitted `is_active` stays as it is. */
export const EmandateProductChange = strict(
  { ...CreateEmandateProduct.properties, is_active: Type.Optional(Type.Boolean()) },
  { title: "EmandateProductChange" },
);
export const UpdateEmandateProduct = strict(
  { id: Id, ...EmandateProductChange.properties },
  { title: "EmandateProductChange" },
);
