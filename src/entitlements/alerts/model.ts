import { type Static, Type } from "@sinclair/typebox";
import { DecimalInput, DecimalText } from "../../billing/decimals.ts";
import { ALERT_KINDS } from "../../billing/features/alert_tables.ts";
import { WINDOWS } from "../../billing/features/entitlement_model.ts";
import { Code } from "../../billing/meters/model.ts";
import { rangeFields } from "../../core/instants.ts";
import { At, Id, Name, nullable, oneOf, pageFields, sortedBy, strict } from "../../core/schema.ts";
import { Currency } from "../../tenancy/companies/model.ts";
import { LIMITS } from "../limits.ts";

const On = oneOf(ALERT_KINDS, ALERT_KINDS.join(", "));

const Ids = Type.Array(Id, {
  minItems: 1,
  maxItems: LIMITS.alert_scope_ids,
  uniqueItems: true,
  description: `1 to ${LIMITS.alert_scope_ids} different ids`,
});

/** Whose subscriptions: those that every given list names. */
const Scope = strict(
  {
    client_ids: Type.Optional(Ids),
    product_ids: Type.Optional(Ids),
    billing_model_ids: Type.Optional(Ids),
    subscription_ids: Type.Optional(Ids),
  },
  { title: "AlertScope" },
);

/** What somebody wants to be told of: each threshold once a window and subscription. Decision 0256. */
export const Alert = Type.Object(
  {
    id: Id,
    name: Type.String(),
    on: oneOf(
      ALERT_KINDS,
      "usage: units of the billing period; spend: its running charges; forecast: what these come to if usage goes on as it did; limit: percents of a feature's limits",
    ),
    meter_id: nullable({ ...Id, description: "what usage is counted by, where no feature says it" }),
    feature: nullable(Type.String({ description: "the code of the feature whose use or limits it is of" })),
    currency: nullable(
      Type.String({ description: "of spend and forecast: only subscriptions in it; null: each in its own" }),
    ),
    scope: Scope,
    thresholds: Type.Array(DecimalText, {
      description: "ascending: units, amounts in the subscription's currency, or percents",
    }),
    company_id: Id,
    created_at: At,
    updated_at: At,
  },
  { title: "Alert" },
);
export type Alert = Static<typeof Alert>;

export const ListAlerts = strict({ sort: sortedBy(["id", "name", "created_at"]), ...pageFields });

const fields = {
  meter_id: Type.Optional(nullable(Id)),
  feature: Type.Optional(nullable(Code)),
  currency: Type.Optional(nullable(Currency)),
  scope: Type.Optional(Scope),
};

const Thresholds = Type.Array(DecimalInput, {
  minItems: 1,
  maxItems: LIMITS.alert_thresholds,
  description: `a list of 1 to ${LIMITS.alert_thresholds} decimals, ascending`,
});

export const CreateAlert = strict(
  { name: Name, on: On, ...fields, thresholds: Thresholds },
  {
    title: "CreateAlert",
    examples: [
      { name: "Nearly used up", on: "limit", feature: "output_tokens", thresholds: [80, 95] },
      {
        name: "Dear months",
        on: "forecast",
        currency: "USD",
        scope: { client_ids: [1] },
        thresholds: ["500"],
      },
    ],
  },
);

/** What is left out stays. */
export const UpdateAlert = strict(
  { id: Id, name: Name, on: Type.Optional(On), ...fields, thresholds: Type.Optional(Thresholds) },
  { title: "UpdateAlert", examples: [{ name: "Used up soon", thresholds: [90] }] },
);

/** A threshold that was told. */
export const AlertFiring = Type.Object(
  {
    id: Id,
    alert_id: Id,
    subscription_id: Id,
    threshold: DecimalText,
    value: { ...DecimalText, description: "units, or an amount, when it was found reached" },
    limit: nullable({ ...DecimalText, description: "the limit that the threshold is percents of" }),
    window: oneOf(WINDOWS),
    window_start: At,
    window_end: nullable({ ...At, description: "null: of all time" }),
    per: nullable(Type.String({ description: "the group key whose values have the limit each" })),
    group: nullable(Type.String({ description: "the value of that key" })),
    at: At,
  },
  { title: "AlertFiring" },
);
export type AlertFiring = Static<typeof AlertFiring>;

/** `from` is inclusive, `to` exclusive. */
export const ListFirings = strict({
  id: Id,
  subscription_id: Type.Optional(Id),
  ...rangeFields,
  sort: sortedBy(["id", "at"]),
  ...pageFields,
});
