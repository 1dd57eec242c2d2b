import { type Static, Type } from "@sinclair/typebox";
import { Month } from "../../core/instants.ts";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict } from "../../core/schema.ts";
import { CreateBillingModel } from "../billing_models/model.ts";
import { DecimalText } from "../decimals.ts";
import { LIMITS } from "../limits.ts";
import { LINE_KINDS } from "../rating/bill_line.ts";

export const SIMULATION_STATUSES = ["running", "finished", "failed", "deleted"] as const;

const Ids = Type.Array(Id, { minItems: 1, maxItems: LIMITS.simulation_ids, uniqueItems: true });

/** Whose bills a model is tried on; exactly one is given. Without one: those of all subscriptions. */
const Of = strict(
  {
    billing_model_id: Type.Optional({ ...Id, description: "the stretches that were billed by this model" }),
    client_ids: Type.Optional(Ids),
    subscription_ids: Type.Optional(Ids),
  },
  { title: "SimulationOf" },
);
export type Of = Static<typeof Of>;

export const CreateSimulation = strict(
  {
    billing_model: Type.Optional(CreateBillingModel),
    billing_model_id: Type.Optional(Id),
    of: Type.Optional(Of),
    from: Month,
    to: { ...Month, description: "a month such as 2026-10: the last one, counted too" },
  },
  {
    title: "CreateSimulation",
    examples: [
      { billing_model_id: 2, of: { billing_model_id: 1 }, from: "2026-01", to: "2026-03" },
      {
        billing_model: {
          billing_type_id: 2,
          name: "Dearer",
          price: "0.00002",
          currency: "USD",
          description: "",
          meter_id: 2,
        },
        from: "2026-01",
        to: "2026-01",
      },
    ],
  },
);

const Amounts = { billed: DecimalText, simulated: DecimalText, difference: DecimalText };

const Totals = Type.Object(Amounts, { title: "SimulationTotals" });

/** What was looked at, and what could not be. */
const Counts = Type.Object(
  {
    subscriptions: Type.Integer({ description: "with a period that was simulated" }),
    periods: Type.Integer({ description: "billing periods that were simulated" }),
    not_reproduced: Type.Integer({ description: "of these: the models in force come to another amount" }),
    other_currency: Type.Integer({ description: "periods left out: billed in another currency" }),
    without_events: Type.Integer({ description: "periods left out: their events were removed" }),
    failed: Type.Integer({ description: "periods left out: the tried model can't rate them" }),
  },
  { title: "SimulationCounts" },
);
export type Counts = Static<typeof Counts>;

const Progress = Type.Object(
  {
    subscriptions: Type.Integer({ description: "to look at" }),
    done: Type.Integer({ description: "looked at" }),
  },
  { title: "SimulationProgress" },
);

const fields = {
  id: Id,
  status: oneOf(["running", "finished", "failed"]),
  billing_model_id: nullable({ ...Id, description: "the model that is tried; null: a draft" }),
  of: nullable(Of),
  from: Type.String(),
  to: Type.String(),
  currency: Type.String(),
  progress: Progress,
  counts: Counts,
  totals: Totals,
  reproduces: nullable(
    Type.Boolean({
      description: "whether the models in force come to what was billed; null until it finished",
    }),
  ),
  error: nullable(Type.String()),
  requested_by: nullable(Id),
  finished_at: nullable(At),
  created_at: At,
  updated_at: At,
};

/** A billing model tried on months that were billed. */
export const Simulation = Type.Object(fields, { title: "Simulation" });
export type Simulation = Static<typeof Simulation>;

const MonthTotals = Type.Object(
  { month: Type.String(), periods: Type.Integer(), ...Amounts },
  { title: "SimulationMonth" },
);
export type MonthTotals = Static<typeof MonthTotals>;

const ChargeTotals = Type.Object(
  {
    kind: oneOf(LINE_KINDS),
    charge_code: nullable(Type.String({ description: "of a charge or an add-on" })),
    billed_units: DecimalText,
    simulated_units: DecimalText,
    ...Amounts,
  },
  { title: "SimulationCharge" },
);
export type ChargeTotals = Static<typeof ChargeTotals>;

const Spread = Type.Object(
  {
    p5: DecimalText,
    p50: DecimalText,
    p95: DecimalText,
    largest: Type.Object({ subscription_id: Id, difference: DecimalText }),
  },
  { title: "SimulationSpread", description: "of the differences of subscriptions" },
);
export type Spread = Static<typeof Spread>;

const Mismatch = Type.Object(
  {
    subscription_id: Id,
    billingStartAt: At,
    billed: DecimalText,
    rated: nullable(DecimalText),
    message: nullable(Type.String()),
  },
  { title: "SimulationMismatch" },
);
export type Mismatch = Static<typeof Mismatch>;

export const SimulationDetail = Type.Object(
  {
    ...fields,
    billing_model: nullable(
      Type.Record(Type.String(), Type.Unknown(), { description: "the draft, as it was sent" }),
    ),
    months: Type.Array(MonthTotals),
    charges: Type.Array(ChargeTotals),
    spread: nullable(Spread),
    mismatches: Type.Array(Mismatch, {
      description: `the first ${LIMITS.simulation_mismatches} periods that are not reproduced, or can't be rated`,
    }),
  },
  { title: "SimulationDetail" },
);
export type SimulationDetail = Static<typeof SimulationDetail>;

export const SimulationRow = Type.Object(
  {
    subscription_id: Id,
    external_subscription_id: Type.String(),
    periods: Type.Integer(),
    ...Amounts,
    reproduces: Type.Boolean(),
  },
  { title: "SimulationRow" },
);
export type SimulationRow = Static<typeof SimulationRow>;

export const ListSimulations = strict({ sort: sortedBy(["id", "from", "created_at"]), ...pageFields });
export const ListSimulationRows = strict({
  id: Id,
  sort: sortedBy(["subscription_id", "billed", "simulated", "difference"]),
  ...pageFields,
});
