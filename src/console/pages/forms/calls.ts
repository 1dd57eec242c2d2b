import type { FormConfig } from "../../../forms/model.ts";
import type { ClientDetail } from "../../../billing/clients/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import { get, list, post, put, remove } from "../../api/call.ts";
import type { Source } from "../../ui/picker.tsx";

export const listForms = list<typeof FormConfig>("/forms", "FormConfig");
export const getForm = get<typeof FormConfig>("/forms/:id", "FormConfig");
export const listMyForms = list<typeof FormConfig>("/my/forms", "FormConfig");
export const getMyForm = get<typeof FormConfig>("/my/forms/:id", "FormConfig");
export const createMyForm = post<typeof FormConfig>("/my/forms", "FormConfig");
export const updateMyForm = put<typeof FormConfig>("/my/forms/:id", "FormConfig");
export const deleteMyForm = remove<typeof Nothing>("/my/forms/:id", "Nothing");

export const CLIENTS: Source<Client> = {
  from: list<typeof Client>("/clients", "Client"),
  one: get<typeof ClientDetail>("/clients/:id", "ClientDetail"),
  nameOf: ({ name }) => name,
};
