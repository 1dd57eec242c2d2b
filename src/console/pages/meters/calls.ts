import type { Meter, MeterTrial } from "../../../billing/meters/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { post, put, remove } from "../../api/call.ts";

export const createMeter = post<typeof Meter>("/meters");
export const updateMeter = put<typeof Meter>("/meters/:id");
export const deleteMeter = remove<typeof Nothing>("/meters/:id");
export const tryMeter = post<typeof MeterTrial>("/meters/try");
