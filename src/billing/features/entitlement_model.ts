import { type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { nullable, oneOf, strict, textUpTo } from "../../core/schema.ts";
import { DecimalText, nullableDecimal } from "../decimals.ts";
import { Code } from "../meters/model.ts";

/** The stretches of time that a limit is of: local ones, weeks from Monday, `month` the billing period, `life` all time. */
export const WINDOWS = ["hour", "day", "week", "month", "life"] as const;

/** What a subscription may use of a feature. One with several limits has several of these. Decision 0234. */
export const Entitlement = Type.Object(
  {
    feature: Type.String({ description: "the code of the feature" }),
    enabled: Type.Boolean(),
    limit: nullable({ ...DecimalText, description: "of a feature of kind limit; null: without a bound" }),
    window: nullable(oneOf(WINDOWS, "the time that the limit is of; month is the billing period")),
    hard: Type.Boolean({ description: "whether checks refuse what is over the limit, or only tell" }),
    per: nullable(
      Type.String({ description: "a group key of the feature's meter, each value of which has the limit" }),
    ),
    value: nullable(Type.String({ description: "of a feature of kind value" })),
  },
  { title: "Entitlement" },
);
export type Entitlement = Static<typeof Entitlement>;

/** What is given of an entitlement beside its feature. */
export const termsInput = {
  enabled: Type.Optional(Type.Boolean()),
  limit: Type.Optional(nullableDecimal()),
  window: Type.Optional(nullable(oneOf(WINDOWS, "hour, day, week, month or life"))),
  hard: Type.Optional(Type.Boolean()),
  per: Type.Optional(nullable(textUpTo(SHARED_LIMITS.name_length))),
  value: Type.Optional(nullable(textUpTo(SHARED_LIMITS.name_length))),
};

export const EntitlementInput = strict({ feature: Code, ...termsInput }, { title: "EntitlementInput" });
export type EntitlementInput = Static<typeof EntitlementInput>;
