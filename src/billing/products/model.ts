import { type Static, Type } from "@sinclair/typebox";
import { At, Id, Name, pageFields, Search, sortedBy, strict } from "../../core/schema.ts";

export const Product = Type.Object(
  { id: Id, name: Type.String(), company_id: Id, created_at: At, updated_at: At },
  { title: "Product" },
);
export type Product = Static<typeof Product>;

export const ListProducts = strict({
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "created_at"]),
  ...pageFields,
});

export const CreateProduct = strict(
  { name: Name },
  { title: "CreateProduct", examples: [{ name: "Completions" }] },
);

export const UpdateProduct = strict({ id: Id, name: Name }, { title: "CreateProduct" });
