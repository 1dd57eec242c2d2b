// Whom one bills: one chunk, since packed together they are smaller (decision 0310).
export * from "./clients/area.ts";
export * from "./subscriptions/area.ts";
