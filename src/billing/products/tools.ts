import { Type } from "@sinclair/typebox";
import { Id, Name } from "../../core/schema.ts";
import { createProduct, getProduct, listProducts, updateProduct } from "./service.ts";
import { page, search } from "../../mcp/params.ts";
import { finder, saver } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { product_id } from "../tools.ts";

const findProducts = tool({
  name: "billing_find_products",
  title: "Find products",
  description: "Finds the company's products by text in the name or by id.",
  ...finder("product_id", listProducts, getProduct),
  finds: ["product_id", "product_ids"],
  details: [],
  input: { product_id: Type.Optional(product_id), search, ...page },
});

const saveProduct = tool({
  name: "billing_save_product",
  title: "Create or rename a product",
  description: "Creates a product, or renames the one that product_id names.",
  ...saver("product_id", createProduct, updateProduct),
  takes_request_id: true,
  input: {
    product_id: Type.Optional(describe(Id, "The product to rename; leave out to create one")),
    name: describe(Name, "The product's name"),
  },
});

export const productTools = [findProducts, saveProduct];
