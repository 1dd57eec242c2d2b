export { MarginsPage } from "./margins.tsx";
export { MigrationPage, MigrationsPage } from "./migrations.tsx";
export { SimulationPage } from "./simulation.tsx";
export { SimulationsPage } from "./simulations.tsx";
