import { call } from "../../app/operation.ts";
import type { Resource } from "../../mcp/resource.ts";
import { getInvoice } from "./service.ts";

/** A bill as the page that customers get. */
export const invoiceResource: Resource = {
  uri: "meterhouse://invoices/{id}",
  name: "invoice",
  title: "Invoice",
  description: "A bill as a page to print, by the id of its billing record",
  mime_type: "text/html",
  toolset: "billing",
  permission: getInvoice.permission,
  read: async (ctx, id) => (await call(ctx, getInvoice, { id })).html,
};
