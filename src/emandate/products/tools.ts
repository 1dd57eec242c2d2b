import { Type } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import {
  createEmandateProduct,
  getEmandateProduct,
  listEmandateProducts,
  updateEmandateProduct,
} from "./service.ts";
import { search } from "../../mcp/params.ts";
import { finder, saver } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { emandate_page, emandate_product_id } from "../tools.ts";

const findProducts = tool({
  name: "emandate_find_products",
  title: "Find e-mandate products",
  description:
    "Finds e-mandate products, the templates of direct debit mandates, by text in code or name, or one by its id. Amounts are MYR.",
  ...finder("emandate_product_id", listEmandateProducts, getEmandateProduct),
  details: [],
  input: {
    emandate_product_id: Type.Optional(emandate_product_id),
    search: describe(search, "Text in the code or name"),
    is_active: describe(listEmandateProducts.input.properties.is_active, "Only active or only inactive ones"),
    ...emandate_page,
  },
});

const fields = updateEmandateProduct.input.properties;

const saveProduct = tool({
  name: "emandate_save_product",
  title: "Create or replace an e-mandate product",
  description:
    "Creates an e-mandate product, or replaces the one that emandate_product_id names: then send every field. Existing mandates keep their terms. To retire a product, replace it with is_active false.",
  ...saver("emandate_product_id", createEmandateProduct, updateEmandateProduct),
  takes_request_id: true,
  input: {
    emandate_product_id: Type.Optional(describe(Id, "The product to replace; omit it to create one")),
    product_code: describe(fields.product_code, "Unique in the company, deleted products included"),
    product_name: describe(fields.product_name, "Its name"),
    max_amount: describe(fields.max_amount, "The most that one debit may take"),
    max_no_debit: describe(fields.max_no_debit, 'Debits per period of the frequency; default "1"'),
    frequency: describe(fields.frequency, "How often mandates are debited"),
    is_active: describe(fields.is_active, "In a replacement only: whether new mandates may use it"),
  },
});

export const emandateProductTools = [findProducts, saveProduct];
