import { McpServer, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { scopeOf } from "../core/access.ts";
import { LIMITS } from "../core/limits.ts";
import type { Deps } from "../deps.ts";
import { findCompany } from "../features/companies/queries.ts";
import { type AgentCall, callTool } from "./call_tool.ts";
import { findTool, toolsFor } from "./tools.ts";
import packageJson from "../../package.json" with { type: "json" };

const INSTRUCTIONS = `Meterhouse bills clients for products by subscription and metered usage. Times are UTC unless they say otherwise; amounts are exact decimals as text, in the currency beside them. To explain a charge: find the subscription, get its overview, then search its usage with aggregate and group_by. What bills or takes away asks for a person's consent first.`;

/**
 * The protocol's server for one request of one agent. The SDK's own tool registry is not used: it builds every
 * schema anew for each request, and passes on the message of whatever is thrown. A greeting is told what day it is
 * where the company is.
 */
export async function serverFor(
  deps: Deps,
  caller: AgentCall,
  { is_greeting }: { is_greeting: boolean },
): Promise<McpServer> {
  const { name, version } = packageJson;
  const identity = { name, version, title: "Meterhouse" };
  const made = new McpServer(identity, {
    capabilities: { tools: { listChanged: false } },
    instructions: is_greeting ? `${INSTRUCTIONS} ${await placeAndDay(deps, caller)}` : INSTRUCTIONS,
    // Visibility follows the user's role: nobody else may be shown it, and not for long.
    cacheHints: { "tools/list": { ttlMs: 0, cacheScope: "private" } },
  });
  const viewer = { actor: caller.actor, config: deps.config };
  made.server.setRequestHandler("tools/list", () => ({
    tools: toolsFor(viewer).map(({ listed }) => listed),
  }));
  made.server.setRequestHandler("tools/call", ({ params }) => {
    const tool = findTool(viewer, params.name);
    if (!tool) {
      const asked = params.name.slice(0, LIMITS.name_length);
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${asked}`);
    }
    return callTool(deps, caller, tool, params.arguments);
  });
  return made;
}

/** Whom the agent works for, where that is, and what day it is there: what "this month" means to it. */
async function placeAndDay({ store, clock }: Deps, { actor }: AgentCall): Promise<string> {
  const company = await findCompany(store.read, scopeOf(actor));
  if (!company) return "";
  const today = clock.now().toZonedDateTimeISO(company.timezone).toPlainDate();
  return `The company's time zone is ${company.timezone}, where its months and days begin; today is ${today.toString()} there.`;
}
