import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import type { CreateBillingModel } from "../billing_models/model.ts";
import type { NewModel } from "../billing_models/read_model.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import {
  type ChargeTotals,
  type Counts,
  type Mismatch,
  type MonthTotals,
  type Of,
  SIMULATION_STATUSES,
  type SimulationDetail,
  type Spread,
} from "./model.ts";

export const simulationTable = (k: ColumnKit) =>
  k.table(
    "simulations",
    {
      id: k.id(),
      ...companyColumn(k),
      status: k.enumeration("status", SIMULATION_STATUSES).notNull(),
      billing_model_id: k.ref("billing_model_id", billingModelTable),
      /** A draft as it was sent; null of a stored model. */
      billing_model: k.json<CreateBillingModel>("billing_model"),
      /** What is tried, as it was at creation; null only of simulations that an earlier version started. */
      draft: k.json<NewModel>("draft"),
      of: k.json<Of>("of"),
      /** The company's last billing record at creation; null as for `draft`. */
      last_record_id: k.integer("last_record_id"),
      from: k.text("from").notNull(),
      to: k.text("to").notNull(),
      currency: k.text("currency").notNull(),
      progress: k.json<SimulationDetail["progress"]>("progress").notNull(),
      counts: k.json<Counts>("counts").notNull(),
      totals: k.json<SimulationDetail["totals"]>("totals").notNull(),
      months: k.json<MonthTotals[]>("months").notNull(),
      charges: k.json<ChargeTotals[]>("charges").notNull(),
      spread: k.json<Spread>("spread"),
      mismatches: k.json<Mismatch[]>("mismatches").notNull(),
      reproduces: k.boolean("reproduces"),
      /** The last subscription whose rows are written: it goes on after it. */
      after_id: k.integer("after_id").notNull(),
      /** Failures since the last step that went well. */
      attempts: k.integer("attempts").notNull(),
      /** How often steps were halved, since one failed twice. */
      halvings: k.integer("halvings").notNull().default(0),
      error: k.text("error"),
      /** A user's id, which outlives the user. */
      requested_by: k.integer("requested_by"),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("simulations_company").on(t.company_id, t.id),
      k.index("simulations_status").on(t.status, t.company_id),
    ],
  );

/** What a simulation makes of each subscription. */
export const simulationRowTable = (k: ColumnKit) =>
  k.table(
    "simulation_rows",
    {
      id: k.id(),
      ...companyColumn(k),
      simulation_id: k.ref("simulation_id", simulationTable).notNull(),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      periods: k.integer("periods").notNull(),
      billed: k.decimal("billed").notNull(),
      simulated: k.decimal("simulated").notNull(),
      difference: k.decimal("difference").notNull(),
      reproduces: k.boolean("reproduces").notNull(),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("simulation_rows_place").on(t.simulation_id, t.subscription_id)],
  );
