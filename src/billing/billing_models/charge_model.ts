import { type Static, Type } from "@sinclair/typebox";
import { Id, Name, nullable, oneOf, strict } from "../../core/schema.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { DecimalInput, DecimalText, nullableDecimal } from "../decimals.ts";
import { LIMITS } from "../limits.ts";
import { Code } from "../meters/model.ts";

/** A tier of a graduated or volume price: units up to and including `up_to`; the last one has no bound. */
export const UsageTier = Type.Object(
  { up_to: nullable(DecimalText), unit_price: DecimalText, flat_fee: DecimalText },
  { title: "UsageTier" },
);
export type UsageTier = Static<typeof UsageTier>;

export const UsageTierInput = strict(
  { up_to: nullableDecimal(), unit_price: DecimalInput, flat_fee: Type.Optional(DecimalInput) },
  { title: "UsageTierInput" },
);

/** How a charge becomes an amount: by what a meter counts, or `fixed`, so much a month. */
export const CHARGE_TYPES = ["per_unit", "graduated", "volume", "package", "fixed"] as const;
export type ChargeType = (typeof CHARGE_TYPES)[number];

/** What a charge, or one of its prices, takes for units. */
const Price = {
  price: DecimalText,
  free_units: DecimalText,
  usage_tiers: Type.Array(UsageTier),
  package_size: nullable(DecimalText),
};

/** The price of the events whose group keys have these values. */
const MatchedPrice = Type.Object({
  match: Type.Record(Type.String(), Type.String()),
  ...Price,
});

/** What a billing model charges beside its own type. Decision 0231. */
export const Charge = Type.Object(
  {
    code: Type.String(),
    name: Type.String(),
    type: oneOf(CHARGE_TYPES),
    meter_id: nullable(Id),
    per: Type.String({ description: "prices of units are of so many of them" }),
    ...Price,
    charge_flat_on_zero: Type.Boolean(),
    prices: Type.Array(MatchedPrice, { description: "the first whose match fits prices an event" }),
    unmatched: oneOf(["price", "free"], "what an event that none of the prices fits costs"),
    quantity: nullable(DecimalText),
  },
  { title: "Charge" },
);
export type Charge = Static<typeof Charge>;
export type MatchedPrice = Static<typeof MatchedPrice>;

const priceInput = {
  price: Type.Optional(DecimalInput),
  free_units: Type.Optional(DecimalInput),
  usage_tiers: Type.Optional(Type.Array(UsageTierInput, { maxItems: LIMITS.usage_tiers })),
  package_size: Type.Optional(nullableDecimal()),
};

const MatchText = Type.String({ maxLength: SHARED_LIMITS.name_length });
/** Of any characters: a pattern's own dot takes no line's end, and what it does not take is not checked. */
const MatchKey = Type.String({ pattern: `^[\\s\\S]{1,${SHARED_LIMITS.name_length}}$` });

export const ChargeInput = strict(
  {
    code: Code,
    name: Name,
    type: oneOf(CHARGE_TYPES),
    meter_id: Type.Optional(nullable(Id)),
    per: Type.Optional(DecimalInput),
    ...priceInput,
    charge_flat_on_zero: Type.Optional(Type.Boolean()),
    prices: Type.Optional(
      Type.Array(
        strict({ match: Type.Record(MatchKey, MatchText, { additionalProperties: false }), ...priceInput }),
        {
          maxItems: LIMITS.charge_prices,
        },
      ),
    ),
    unmatched: Type.Optional(oneOf(["price", "free"])),
    quantity: Type.Optional(nullableDecimal()),
  },
  { title: "ChargeInput" },
);
export type ChargeInput = Static<typeof ChargeInput>;
export type PriceInput = Pick<ChargeInput, "price" | "free_units" | "usage_tiers" | "package_size">;

/** What a month's usage and charges are at least, and at most, or those of a year. */
export const Commitment = Type.Object(
  {
    minimum: nullable(DecimalText),
    maximum: nullable(DecimalText),
    interval: Type.Optional(oneOf(["year"], "of twelve billing months; a month where it is left out")),
  },
  { title: "Commitment" },
);
export type Commitment = Static<typeof Commitment>;

export const CommitmentInput = strict(
  {
    minimum: Type.Optional(nullableDecimal()),
    maximum: Type.Optional(nullableDecimal()),
    interval: Type.Optional(
      oneOf(["month", "year"], "a billing month, or twelve of them; month unless it is given"),
    ),
  },
  { title: "CommitmentInput" },
);
