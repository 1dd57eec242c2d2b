import type { FormConfig } from "../../../forms/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const listForms = list<typeof FormConfig>("/forms");
export const getForm = get<typeof FormConfig>("/forms/:id");
export const listMyForms = list<typeof FormConfig>("/my/forms");
export const getMyForm = get<typeof FormConfig>("/my/forms/:id");
export const createMyForm = post<typeof FormConfig>("/my/forms");
export const updateMyForm = put<typeof FormConfig>("/my/forms/:id");
export const deleteMyForm = remove<typeof Nothing>("/my/forms/:id");
