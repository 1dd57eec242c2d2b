import type {
  BegunMigration,
  BillingModelMigration,
  BillingModelMigrationDetail,
} from "../../../billing/billing_model_migrations/model.ts";
import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { Margins } from "../../../billing/margins/model.ts";
import type { Simulation, SimulationDetail, SimulationRow } from "../../../billing/simulations/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, remove } from "../../api/call.ts";
import type { Source } from "../../ui/picker.tsx";

export const listSimulations = list<typeof Simulation>("/simulations", "Simulation");
export const getSimulation = get<typeof SimulationDetail>("/simulations/:id", "SimulationDetail");
export const createSimulation = post<typeof SimulationDetail>("/simulations", "SimulationDetail");
export const deleteSimulation = remove<typeof Nothing>("/simulations/:id", "Nothing");
export const listRows = list<typeof SimulationRow>("/simulations/:id/rows", "SimulationRow");
export const getMargins = get<typeof Margins>("/revenue/margins", "Margins");

export const listMigrations = list<typeof BillingModelMigration>(
  "/billing-model-migrations",
  "BillingModelMigration",
);
export const getMigration = get<typeof BillingModelMigrationDetail>(
  "/billing-model-migrations/:id",
  "BillingModelMigrationDetail",
);
export const createMigration = post<typeof BegunMigration>(
  "/billing-model-migrations",
  "BegunBillingModelMigration",
);

export const BILLING_MODELS: Source<BillingModel> = {
  from: list<typeof BillingModel>("/billing-models", "BillingModel"),
  one: get<typeof BillingModel>("/billing-models/:id", "BillingModel"),
  nameOf: ({ name }) => name,
};
