import type { AddOn } from "../../../billing/add_ons/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { post, put, remove } from "../../api/call.ts";

export const createAddOn = post<typeof AddOn>("/add-ons");
export const updateAddOn = put<typeof AddOn>("/add-ons/:id");
export const deleteAddOn = remove<typeof Nothing>("/add-ons/:id");
