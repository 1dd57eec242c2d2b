import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable, strict } from "../../core/schema.ts";
import { CreateBillingModel } from "../billing_models/model.ts";
import { DecimalInput, DecimalText } from "../decimals.ts";
import { LIMITS } from "../limits.ts";
import { BillLine } from "../rating/bill_line.ts";
import { Month } from "../../core/instants.ts";

const MATCH = "metadata of the events, as the prices of charges match them; left out: what no price matches";
const MatchInput = Type.Optional(
  Type.Record(Type.String(), Type.String(), { description: MATCH, maxProperties: LIMITS.meter_group_keys }),
);

const Quantity = strict(
  { meter_id: Id, match: MatchInput, quantity: { ...DecimalInput, description: "what the meter comes to" } },
  { title: "QuoteQuantity" },
);

export const QuoteBillingModel = strict(
  {
    billing_model: Type.Optional(CreateBillingModel),
    billing_model_id: Type.Optional(Id),
    units: Type.Optional({
      ...DecimalInput,
      description:
        "what the model's own type is rated for in a month; of a credit plan per_api_call: calls; 0 unless given",
    }),
    quantities: Type.Optional(
      Type.Array(Quantity, {
        maxItems: LIMITS.quote_quantities,
        description: "what its meters come to in a month; those left out come to 0",
      }),
    ),
    subscription_id: Type.Optional({
      ...Id,
      description: "with period, in place of units and quantities: what this subscription used in that month",
    }),
    period: Type.Optional(Month),
    is_first: Type.Optional(
      Type.Boolean({ description: "whether it is the first month, with a setup fee; false unless given" }),
    ),
    curve: Type.Optional(
      strict(
        {
          to: Type.Optional({
            ...DecimalInput,
            description: "where it ends; twice what is quoted unless given",
          }),
          points: Type.Optional(Type.Integer({ minimum: 2, maximum: LIMITS.quote_points })),
          meter_id: Type.Optional({
            ...Id,
            description: "the meter along which it goes; the model's own type unless given",
          }),
          match: MatchInput,
        },
        { title: "QuoteCurveInput" },
      ),
    ),
  },
  {
    title: "QuoteBillingModel",
    examples: [
      { billing_model_id: 1, quantities: [{ meter_id: 1, match: { model: "small" }, quantity: "2000000" }] },
      {
        billing_model: {
          billing_type_id: 3,
          name: "Graduated",
          price: "5",
          currency: "USD",
          description: "",
          usage_tiers: [
            { up_to: "1000", unit_price: "0.10" },
            { up_to: null, unit_price: "0.08" },
          ],
        },
        units: "1500",
        curve: { to: "3000", points: 4 },
      },
      { billing_model_id: 2, subscription_id: 1, period: "2026-01" },
    ],
  },
);
export type QuoteBillingModel = Static<typeof QuoteBillingModel>;

/** A line of a bill without what is of its events. */
const QuoteLine = Type.Object(
  Type.Omit(BillLine, ["billing_model_id", "event_count", "usage_digest", "skipped_events"]).properties,
  { title: "QuoteLine" },
);
export type QuoteLine = Static<typeof QuoteLine>;

const Match = nullable(Type.Record(Type.String(), Type.String()));

/** What a billing model makes of a month's usage, by the functions that bill. Decision 0271. */
export const Quote = Type.Object(
  {
    billing_model_id: nullable({ ...Id, description: "null of a model that was sent along" }),
    subscription_id: Type.Optional(Id),
    from: { ...At, description: "of the month that is quoted" },
    to: At,
    currency: Type.String(),
    lines: Type.Array(QuoteLine),
    total: Type.String({ description: "a decimal with exactly the currency's digits" }),
    curve: Type.Object(
      {
        meter_id: nullable({ ...Id, description: "along which it goes; null: the model's own type" }),
        match: Match,
        points: Type.Array(Type.Object({ units: DecimalText, total: DecimalText }, { title: "QuotePoint" }), {
          description: "the total for other units, ascending; where tiers end there is a point",
        }),
      },
      { title: "QuoteCurve" },
    ),
  },
  { title: "Quote" },
);
export type Quote = Static<typeof Quote>;
