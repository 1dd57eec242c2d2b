import { McpServer, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { Deps } from "../app/deps.ts";
import { call } from "../app/operation.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { VERSION } from "../core/version.ts";
import { getMe } from "../access/sessions/service.ts";
import { type ToolCall, callTool } from "./call_tool.ts";
import type { IdFinders } from "./ids.ts";
import type { Library } from "./library.ts";
import { personBehind } from "./confirmation.ts";
import type { ToolSet } from "./tool_set.ts";

const INSTRUCTIONS = `Meterhouse bills clients for products by subscription and metered usage. Times are UTC unless they say otherwise; amounts are exact decimals as text, in the currency beside them. To explain a charge: find the subscription, get its overview, then search its usage with group_by. Where an answer has meta.next_cursor, the same call with cursor goes on. Where it says needs_confirmation, nothing was done: show the person what will happen, and send confirm only with their consent.`;

const LISTS = [
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
] as const;

/**
 * The protocol's server for one request. The SDK's own tool registry is not used: it rebuilds every schema for
 * each request, and exposes the message of whatever is thrown. The handshake's instructions name the company's date.
 */
export async function serverFor(
  deps: Deps,
  { tools, library, finders }: { tools: ToolSet; library: Library; finders: IdFinders },
  caller: ToolCall,
  { is_greeting }: { is_greeting: boolean },
): Promise<McpServer> {
  const identity = { name: "meterhouse", version: VERSION.version, title: "Meterhouse" };
  const server = new McpServer(identity, {
    capabilities: {
      tools: { listChanged: false },
      prompts: { listChanged: false },
      resources: { listChanged: false, subscribe: false },
    },
    instructions: is_greeting ? `${INSTRUCTIONS} ${await placeAndDay(deps, caller)}` : INSTRUCTIONS,
    // Visibility follows the user's role: the list must not be cached for others, nor for long.
    cacheHints: Object.fromEntries(LISTS.map((list) => [list, { ttlMs: 0, cacheScope: "private" }])),
  });
  const viewer = { actor: caller.actor, config: deps.config };
  server.server.setRequestHandler("tools/list", () => ({ tools: tools.listFor(viewer) }));
  server.server.setRequestHandler("tools/call", ({ params }, context) => {
    const tool = tools.find(viewer, params.name);
    if (!tool) {
      const tool_name = params.name.slice(0, SHARED_LIMITS.name_length);
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${tool_name}`);
    }
    const person = personBehind(context);
    return callTool(deps, { tools, finders }, caller, tool, { raw_input: params.arguments, person });
  });
  server.server.setRequestHandler("prompts/list", () => library.prompts(viewer));
  server.server.setRequestHandler("prompts/get", ({ params }) =>
    library.prompt(viewer, params.name, params.arguments),
  );
  server.server.setRequestHandler("resources/list", () => library.resources(viewer));
  server.server.setRequestHandler("resources/templates/list", () => library.templates(viewer));
  server.server.setRequestHandler("resources/read", ({ params }) => library.read(deps, caller, params.uri));
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
