import type { Alert, AlertFiring } from "../../../entitlements/alerts/model.ts";
import type { Feature } from "../../../billing/features/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const listFeatures = list<typeof Feature>("/features");
export const getFeature = get<typeof Feature>("/features/:id");
export const createFeature = post<typeof Feature>("/features");
export const updateFeature = put<typeof Feature>("/features/:id");
export const deleteFeature = remove<typeof Nothing>("/features/:id");

export const listAlerts = list<typeof Alert>("/alerts");
export const getAlert = get<typeof Alert>("/alerts/:id");
export const createAlert = post<typeof Alert>("/alerts");
export const updateAlert = put<typeof Alert>("/alerts/:id");
export const deleteAlert = remove<typeof Nothing>("/alerts/:id");
export const listFirings = list<typeof AlertFiring>("/alerts/:id/firings");
