import type { Alert, AlertFiring } from "../../../entitlements/alerts/model.ts";
import type { Feature } from "../../../billing/features/model.ts";
import type { Meter } from "../../../billing/meters/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";
import type { Source } from "../../ui/picker.tsx";

export const listFeatures = list<typeof Feature>("/features", "Feature");
export const createFeature = post<typeof Feature>("/features", "Feature");
export const updateFeature = put<typeof Feature>("/features/:id", "Feature");
export const deleteFeature = remove<typeof Nothing>("/features/:id", "Nothing");

export const listAlerts = list<typeof Alert>("/alerts", "Alert");
export const getAlert = get<typeof Alert>("/alerts/:id", "Alert");
export const createAlert = post<typeof Alert>("/alerts", "Alert");
export const updateAlert = put<typeof Alert>("/alerts/:id", "Alert");
export const deleteAlert = remove<typeof Nothing>("/alerts/:id", "Nothing");
export const listFirings = list<typeof AlertFiring>("/alerts/:id/firings", "AlertFiring");

export const METERS: Source<Meter> = {
  from: list<typeof Meter>("/meters", "Meter"),
  one: get<typeof Meter>("/meters/:id", "Meter"),
  nameOf: ({ name }) => name,
};
