import { LIMITS } from "./limits.ts";
import { Id, pageFieldsUpTo } from "../core/schema.ts";
import { pageOf } from "../mcp/params.ts";
import { describe } from "../mcp/wire_schema.ts";

// Parameters that the tools for e-mandates share.

export const emandate_page = pageOf(pageFieldsUpTo(LIMITS.emandate_page_limit));

export const emandate_product_id = describe(Id, "The e-mandate product's id");
export const customer_id = describe(Id, "The customer's id");
export const mandate_id = describe(Id, "The mandate's id");
