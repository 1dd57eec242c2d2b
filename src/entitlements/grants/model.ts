import { type Static, Type } from "@sinclair/typebox";
import { Entitlement, EntitlementInput, termsInput } from "../../billing/features/entitlement_model.ts";
import { DecimalText } from "../../billing/decimals.ts";
import { LIMITS as BILLING_LIMITS } from "../../billing/limits.ts";
import { FEATURE_KINDS } from "../../billing/features/model.ts";
import { Code } from "../../billing/meters/model.ts";
import { At, Id, nullable, oneOf, strict } from "../../core/schema.ts";

/** Where an entitlement comes from. */
export const SOURCES = ["billing_model", "subscription", "add_on"] as const;

const use = {
  used: DecimalText,
  reserved: DecimalText,
  remaining: nullable(DecimalText),
  certain: Type.Boolean({ description: "false while stored usage is being counted" }),
};

/** An entitlement of a subscription with its use; of a limit `per` a group key that of each value. */
export const EntitlementUse = Type.Object(
  {
    ...Entitlement.properties,
    kind: oneOf(FEATURE_KINDS),
    source: oneOf(
      SOURCES,
      "whose it is: the subscription's own take the place of its billing model's, and booked add-ons add to either",
    ),
    ...Type.Partial(Type.Object(use)).properties,
    resets_at: Type.Optional(nullable(At)),
    groups: Type.Optional(
      Type.Array(Type.Object({ group: nullable(Type.String()), ...use }), {
        description: "of a limit per a group key: the values that are used, the most used first",
      }),
    ),
  },
  { title: "EntitlementUse" },
);
export type EntitlementUse = Static<typeof EntitlementUse>;

/** One entitlement, or several in `entitlements`. */
export const SetEntitlement = strict(
  {
    id: Id,
    code: Code,
    feature: Type.Optional(Code),
    ...termsInput,
    entitlements: Type.Optional(
      Type.Array(strict({ ...EntitlementInput.properties, feature: Type.Optional(Code) }), {
        minItems: 1,
        maxItems: BILLING_LIMITS.feature_entitlements,
        description: `in place of the other fields: 1 to ${BILLING_LIMITS.feature_entitlements} limits, of different windows`,
      }),
    ),
  },
  {
    title: "SetEntitlement",
    examples: [
      { limit: "1000000", window: "month", hard: true },
      {
        entitlements: [
          { limit: "1000000", window: "month", hard: true },
          { limit: "50000", window: "hour", per: "model" },
        ],
      },
    ],
  },
);
export type SetEntitlement = Static<typeof SetEntitlement>;

export const RemoveEntitlement = strict({ id: Id, code: Code });
