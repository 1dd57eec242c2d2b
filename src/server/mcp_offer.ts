import { invoiceResource } from "../billing/records/resources.ts";
import { billingPrompts } from "../billing/prompts.ts";
import { debitPrompts } from "../emandate/prompts.ts";
import type { Offer } from "../mcp/handler.ts";
import type { Resource } from "../mcp/resource.ts";
import { GUIDES } from "./guides.ts";
import { ID_FINDERS } from "./mcp_ids.ts";
import { TOOLS } from "./tools.ts";

/** What agents find at the MCP endpoint. `openapi` makes the document of this server's REST interface. */
export function mcpOffer(openapi: () => Promise<object>): Offer {
  const document: Resource = {
    uri: "meterhouse://openapi.json",
    name: "openapi",
    title: "OpenAPI document",
    description:
      "Every path, field and error of the REST interface: large, for programs rather than for models",
    mime_type: "application/json",
    read: async () => JSON.stringify(await openapi()),
  };
  return {
    tools: TOOLS,
    prompts: [...billingPrompts, ...debitPrompts],
    finders: ID_FINDERS,
    resources: [...GUIDES, document, invoiceResource],
  };
}
