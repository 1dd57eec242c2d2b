import { type Static, Type } from "@sinclair/typebox";
import { At, Id, idsField, Name, pageFields, Search, sortedBy, strict } from "../../core/schema.ts";

export const Client = Type.Object(
  { id: Id, name: Type.String(), company_id: Id, created_at: At, updated_at: At },
  { title: "Client" },
);
export type Client = Static<typeof Client>;

export const ListClients = strict({
  ids: idsField,
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "created_at"]),
  ...pageFields,
});

export const CreateClient = strict({ name: Name }, { title: "CreateClient", examples: [{ name: "Acme" }] });

export const UpdateClient = strict({ id: Id, name: Name }, { title: "CreateClient" });
