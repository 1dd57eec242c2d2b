// What one sells: one chunk, since packed together they are smaller (decision 0310).
export * from "./add_ons/area.ts";
export * from "./billing_models/area.ts";
export * from "./limits/area.ts";
export * from "./meters/area.ts";
export * from "./products/area.ts";
export * from "./simulations/area.ts";
