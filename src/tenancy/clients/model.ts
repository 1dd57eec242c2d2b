import { type Static, Type } from "@sinclair/typebox";
import { At, Id, Name, pageFields, Search, strict } from "../../core/schema.ts";

export const Client = Type.Object(
  { id: Id, name: Type.String(), company_id: Id, created_at: At, updated_at: At },
  { title: "Client" },
);
export type Client = Static<typeof Client>;

export const ListClients = strict({ search: Type.Optional(Search), ...pageFields });

export const CreateClient = strict({ name: Name }, { title: "CreateClient" });

export const UpdateClient = strict({ id: Id, name: Name }, { title: "CreateClient" });
