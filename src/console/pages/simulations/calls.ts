import type {
  BegunMigration,
  BillingModelMigration,
  BillingModelMigrationDetail,
} from "../../../billing/billing_model_migrations/model.ts";
import type { Margins } from "../../../billing/margins/model.ts";
import type { Simulation, SimulationDetail, SimulationRow } from "../../../billing/simulations/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, remove } from "../../api/call.ts";

export const listSimulations = list<typeof Simulation>("/simulations");
export const getSimulation = get<typeof SimulationDetail>("/simulations/:id");
export const createSimulation = post<typeof SimulationDetail>("/simulations");
export const deleteSimulation = remove<typeof Nothing>("/simulations/:id");
export const listRows = list<typeof SimulationRow>("/simulations/:id/rows");
export const getMargins = get<typeof Margins>("/revenue/margins");

export const listMigrations = list<typeof BillingModelMigration>("/billing-model-migrations");
export const getMigration = get<typeof BillingModelMigrationDetail>("/billing-model-migrations/:id");
export const createMigration = post<typeof BegunMigration>("/billing-model-migrations");
