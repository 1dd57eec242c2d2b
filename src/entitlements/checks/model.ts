import { type Static, Type } from "@sinclair/typebox";
import { DecimalInput, DecimalText } from "../../billing/decimals.ts";
import { Code } from "../../billing/meters/model.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { At, nullable, oneOf, strict, textUpTo, Uuid } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";

/** Why a check refuses, or of what it tells. */
const REASONS = ["no_feature", "limit", "spend_limit", "uncertain", "subscription_ended"] as const;
export type Reason = (typeof REASONS)[number];

const Text = textUpTo(SHARED_LIMITS.name_length);

/** May a subscription use so much more of a feature? */
export const CheckUsage = strict(
  {
    external_subscription_id: Type.String({ minLength: 1, maxLength: SHARED_LIMITS.external_id_length }),
    feature: Code,
    units: Type.Optional(DecimalInput),
    group: Type.Optional(
      Type.Record(Text, Text, {
        description:
          "the values of the meter's group keys that the usage will have, where a limit is per one",
      }),
    ),
    reserve_s: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.reserve_s,
        description: `holds the units for 1 to ${LIMITS.reserve_s} seconds, where they are allowed`,
      }),
    ),
  },
  {
    title: "CheckUsage",
    examples: [
      {
        external_subscription_id: "acme-api",
        feature: "output_tokens",
        units: "2000",
        group: { model: "small" },
      },
      {
        external_subscription_id: "acme-api",
        feature: "output_tokens",
        units: "2000",
        group: { model: "small" },
        reserve_s: 60,
      },
    ],
  },
);
export type CheckUsage = Static<typeof CheckUsage>;

export const CheckedUsage = Type.Object(
  {
    allowed: Type.Boolean(),
    reason: nullable(
      oneOf(
        REASONS,
        "why not; limit and spend_limit also where a soft one is passed, which allows. uncertain: what was used is not known yet, and the company's if_uncertain is deny",
      ),
    ),
    limit: nullable({
      ...DecimalText,
      description: "of the limit that decides; null: none, or without a bound",
    }),
    used: nullable(DecimalText),
    reserved: nullable(DecimalText),
    remaining: nullable(DecimalText),
    resets_at: nullable(At),
    hard: nullable(Type.Boolean()),
    reservation: nullable(
      Type.Object({
        id: Type.String({
          description: "send the usage under this id: the event takes the place of the hold",
        }),
        units: DecimalText,
        expires_at: At,
      }),
    ),
    certain: Type.Boolean({
      description:
        "whether what was used is known; false while stored usage is being counted, shortly after a start",
    }),
  },
  { title: "CheckedUsage" },
);
export type CheckedUsage = Static<typeof CheckedUsage>;

export const FreeReservation = strict({
  id: Uuid,
});
