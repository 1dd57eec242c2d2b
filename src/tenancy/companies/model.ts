import { type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { At, Id, Name, oneOf, strict } from "../../core/schema.ts";

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

/** What checks of limits answer while they can't be certain. */
export const IF_UNCERTAIN = ["deny", "allow"] as const;
export type IfUncertain = (typeof IF_UNCERTAIN)[number];

const OnUncertain = Type.Optional(
  oneOf(IF_UNCERTAIN, "what checks of limits answer while usage is being counted; deny where it is left out"),
);

/** When client users may let a subscription end: with its period, or also at once. */
export const SELF_CANCEL_TIMES = ["period_end", "now"] as const;

/** What client users may do with their subscriptions themselves. What is left out is not allowed. Decision 0273. */
export const SelfService = strict(
  {
    upgrade: Type.Optional(Type.Boolean({ description: "whether they may upgrade credit plans" })),
    downgrade: Type.Optional(Type.Boolean({ description: "whether they may downgrade credit plans" })),
    cancel: Type.Optional(
      oneOf(
        SELF_CANCEL_TIMES,
        "period_end: with the running period; now: also at once; left out: not at all",
      ),
    ),
    plans: Type.Optional(
      Type.Array(Id, {
        maxItems: SHARED_LIMITS.self_service_plans,
        uniqueItems: true,
        description: "billing models that they may choose, beside those made for them",
      }),
    ),
  },
  { title: "SelfService" },
);
export type SelfService = Static<typeof SelfService>;

export const Company = Type.Object(
  {
    id: Id,
    name: Type.String(),
    timezone: Type.String(),
    currency: Type.String(),
    if_uncertain: OnUncertain,
    self_service: Type.Optional({
      ...SelfService,
      description: "what client users may do themselves; nothing where it is left out",
    }),
    created_at: At,
    updated_at: At,
  },
  { title: "Company" },
);
export type Company = Static<typeof Company>;

export const UpdateCompany = strict(
  {
    name: Name,
    timezone: TimeZone,
    currency: Currency,
    if_uncertain: OnUncertain,
    self_service: Type.Optional(SelfService),
  },
  { title: "UpdateCompany" },
);
