import type { Context } from "../app/context.ts";
import { call } from "../app/operation.ts";
import { LIMITS } from "./limits.ts";
import { Id, pageFieldsUpTo } from "../core/schema.ts";
import { pageOf } from "../mcp/params.ts";
import { describe } from "../mcp/wire_schema.ts";
import type { Mandate } from "./mandates/model.ts";
import { getMandate } from "./mandates/service.ts";

// Parameters that the tools for e-mandates share.

export const emandate_page = pageOf(pageFieldsUpTo(LIMITS.emandate_page_limit));

export const emandate_product_id = describe(Id, "The e-mandate product's id");
export const customer_id = describe(Id, "The customer's id");
export const mandate_id = describe(Id, "The mandate's id, or reference");

/** A mandate in words for the person who is asked about it, and whether money moves. */
export async function mandateInWords(
  ctx: Context,
  id: number,
): Promise<{ mandate: Mandate; words: string; money: string }> {
  const mandate = await call(ctx, getMandate, { id });
  const { reference, customer } = mandate;
  const money =
    mandate.connector === "sandbox" ? "This is the sandbox: no money moves." : "Real money moves.";
  return { mandate, words: `mandate ${id} (${reference}) of ${customer.name}, ${customer.email}`, money };
}
