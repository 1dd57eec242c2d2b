import type { AddOn } from "../../../billing/add_ons/model.ts";
import type { Meter } from "../../../billing/meters/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { list, post, put, remove } from "../../api/call.ts";

export const listAddOns = list<typeof AddOn>("/add-ons", "AddOn");
export const createAddOn = post<typeof AddOn>("/add-ons", "AddOn");
export const updateAddOn = put<typeof AddOn>("/add-ons/:id", "AddOn");
export const deleteAddOn = remove<typeof Nothing>("/add-ons/:id", "Nothing");
export const listMeters = list<typeof Meter>("/meters", "Meter");
