import { McpServer, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { Deps } from "../app/deps.ts";
import { call } from "../app/operation.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { VERSION } from "../core/version.ts";
import { getMe } from "../access/sessions/service.ts";
import { type ToolCall, callTool } from "./call_tool.ts";
import type { ToolSet } from "./tool_set.ts";

const INSTRUCTIONS = `Meterhouse bills clients for products by subscription and metered usage. Times are UTC unless they say otherwise; amounts are exact decimals as text, in the currency beside them. To explain a charge: find the subscription, get its overview, then search its usage with aggregate and group_by. Get a person's consent before you call a tool that bills or deletes.`;

/**
 * The protocol's server for one request. The SDK's own tool registry is not used: it rebuilds every schema for
 * each request, and exposes the message of whatever is thrown. The handshake's instructions name the company's date.
 */
export async function serverFor(
  deps: Deps,
  tools: ToolSet,
  caller: ToolCall,
  { is_greeting }: { is_greeting: boolean },
): Promise<McpServer> {
  const identity = { name: "meterhouse", version: VERSION.version, title: "Meterhouse" };
  const server = new McpServer(identity, {
    capabilities: { tools: { listChanged: false } },
    instructions: is_greeting ? `${INSTRUCTIONS} ${await placeAndDay(deps, caller)}` : INSTRUCTIONS,
    // Visibility follows the user's role: the list must not be cached for others, nor for long.
    cacheHints: { "tools/list": { ttlMs: 0, cacheScope: "private" } },
  });
  const viewer = { actor: caller.actor, config: deps.config };
  server.server.setRequestHandler("tools/list", () => ({
    tools: tools.visibleTo(viewer).map(({ listed }) => listed),
  }));
  server.server.setRequestHandler("tools/call", ({ params }) => {
    const tool = tools.find(viewer, params.name);
    if (!tool) {
      const tool_name = params.name.slice(0, SHARED_LIMITS.name_length);
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${tool_name}`);
    }
    return callTool(deps, tools, caller, tool, params.arguments);
  });
  return server;
}

/** The company's time zone and date, so that a model knows what "this month" means. */
async function placeAndDay(deps: Deps, caller: ToolCall): Promise<string> {
  const { actor, request_id } = caller;
  const ctx = deps.openContext({ actor, origin: "mcp", request_id, address: null });
  const { timezone } = await call(ctx, getMe, {});
  const today = ctx.now.toZonedDateTimeISO(timezone).toPlainDate();
  return `The company's time zone is ${timezone}, where its months and days begin; today is ${today.toString()} there.`;
}
