import { type AuthInfo, createMcpHandler } from "@modelcontextprotocol/server";
import type { Deps } from "../app/deps.ts";
import { SCOPE } from "../access/authorizations/scopes.ts";
import type { ToolCall } from "./call_tool.ts";
import { serverFor } from "./server.ts";
import type { IdFinders } from "./ids.ts";
import { Library } from "./library.ts";
import type { Prompt } from "./prompt.ts";
import type { Resource } from "./resource.ts";
import type { ToolInSet } from "./tool.ts";
import { ToolSet } from "./tool_set.ts";

/** No streams for change notifications: what a client may see is decided on each call. */
const NO_SUBSCRIPTIONS = 0;

/** Answers a JSON-RPC message of an authenticated caller. */
export type Handler = (request: Request, message: unknown, call: ToolCall) => Promise<Response>;

/** Everything that agents may find at the endpoint. */
export interface Offer {
  tools: readonly ToolInSet[];
  prompts: readonly Prompt[];
  resources: readonly Resource[];
  /** What finds records by the texts that answers name them by. */
  finders: IdFinders;
}

/** Hands messages to the SDK, with a server for each that has what the caller may see. */
export function handlerFor(deps: Deps, { prompts, resources, finders, tools: all_tools }: Offer): Handler {
  const tools = new ToolSet(all_tools);
  const library = new Library(tools, prompts, resources);
  const calls = new WeakMap<AuthInfo, { call: ToolCall; is_greeting: boolean }>();
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const known = authInfo && calls.get(authInfo);
      if (!known) throw new Error("A request reached the MCP server without its caller");
      return serverFor(deps, { tools, library, finders }, known.call, known);
    },
    {
      maxSubscriptions: NO_SUBSCRIPTIONS,
      onerror: (error) => deps.log.debug({ err: error }, "mcp: refused"),
    },
  );
  return async (request, message, call) => {
    // A key only: the SDK passes it on, and it could not hold the whole caller.
    const authInfo: AuthInfo = { token: "", clientId: "", scopes: [SCOPE] };
    calls.set(authInfo, { call, is_greeting: isInitialize(message) });
    return handler.fetch(request, { authInfo, parsedBody: message });
  };
}

/** Whether a message is the handshake: initialize, or server/discover since 2026. */
function isInitialize(message: unknown): boolean {
  if (typeof message !== "object" || message === null || !("method" in message)) return false;
  return message.method === "initialize" || message.method === "server/discover";
}
