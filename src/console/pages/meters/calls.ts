import type { Meter, MeterTrial } from "../../../billing/meters/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const listMeters = list<typeof Meter>("/meters", "Meter");
export const getMeter = get<typeof Meter>("/meters/:id", "Meter");
export const createMeter = post<typeof Meter>("/meters", "Meter");
export const updateMeter = put<typeof Meter>("/meters/:id", "Meter");
export const deleteMeter = remove<typeof Nothing>("/meters/:id", "Nothing");
export const tryMeter = post<typeof MeterTrial>("/meters/try", "MeterTrial");
