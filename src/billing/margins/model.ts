import { type Static, Type } from "@sinclair/typebox";
import { Month } from "../../core/instants.ts";
import { Id, nullable, oneOf, pageFields, strict } from "../../core/schema.ts";
import { DecimalText } from "../decimals.ts";

export const MARGIN_GROUPS = ["client", "product", "charge"] as const;

/** What makes a simulation out of date. */
const STALE_REASONS = ["costs_changed", "billed_since"] as const;

export const ReportMargins = strict({
  cost_model_id: Id,
  from: Month,
  to: { ...Month, description: "a month such as 2026-10: the last one, counted too" },
  group_by: Type.Optional(oneOf(MARGIN_GROUPS, "client, product or charge; client unless given")),
  ...pageFields,
});

const Amounts = {
  revenue: { ...DecimalText, description: "what was billed" },
  cost: { ...DecimalText, description: "what the usage cost by the cost model" },
  margin: { ...DecimalText, description: "revenue less cost" },
};

const MarginRow = Type.Object(
  {
    id: nullable({ ...Id, description: "of the client or the product; null of a charge" }),
    name: Type.String({
      description: "of the client or the product; of a charge its code, of another line its kind",
    }),
    charge_code: Type.Optional(
      nullable(
        Type.String({
          description: "of rows by charge: the code of a charge or an add-on; null of other lines",
        }),
      ),
    ),
    ...Amounts,
  },
  { title: "MarginRow" },
);
export type MarginRow = Static<typeof MarginRow>;

/** What was billed in some months less what its usage cost, by group. Amounts are in the cost model's currency. */
export const Margins = Type.Object(
  {
    cost_model_id: Id,
    simulation_id: { ...Id, description: "which worked the costs out; its counts say what is left out" },
    stale: Type.Array(oneOf(STALE_REASONS), {
      description:
        "why the simulation is out of date, so that a new one may come to other margins; empty: it is not. costs_changed: the cost model's prices are others than it tried. billed_since: these months were billed or adjusted after it was started",
    }),
    from: Type.String(),
    to: Type.String(),
    currency: Type.String(),
    totals: Type.Object(Amounts, { title: "MarginTotals" }),
    groups: Type.Integer({ description: "how many there are; rows are a page of them" }),
    rows: Type.Array(MarginRow, { description: "the smallest margin first" }),
  },
  { title: "Margins" },
);
export type Margins = Static<typeof Margins>;
