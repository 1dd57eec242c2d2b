import { Elysia } from "elysia";
import type { Deps } from "../app/deps.ts";
import type { Actor } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { commonToolsets } from "../core/toolsets.ts";
import {
  challengeAt,
  type McpAddress,
  mcpAddressOf,
  requireMcpAddress,
} from "../access/oauth/mcp_address.ts";
import { mediaTypeOf, readJson } from "../http/body.ts";
import { errorResponse } from "../http/errors.ts";
import { publicOrigin } from "../http/origin.ts";
import type { ListeningServer } from "../http/address.ts";
import { type Arrived, bearerOf, callerOf, isLate } from "../http/authentication.ts";
import { traceRequest } from "../http/trace_request.ts";
import { countRequest, watchAddress, watchLargeBody } from "../http/rate_limits.ts";
import type { ToolCall } from "./call_tool.ts";
import type { Handler, Offer } from "./handler.ts";

/** JSON-RPC 2.0. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/** Its addresses: with all toolsets, or those that one names. Decision 0285. */
const PATHS = ["/mcp", "/mcp/readonly", "/mcp/x/:toolsets", "/mcp/x/:toolsets/readonly"];

/**
 * The MCP endpoint: authenticates and limits requests, and hands them to the SDK with the tools. Each request is
 * served on its own, in whichever revision of the protocol it uses. Decision 0085. The SDK and the tools are loaded
 * with the first message: they would be a quarter of a start. Decision 0170.
 */
export function mcpEndpoint(deps: Deps, loadOffer: () => Promise<Offer>) {
  let handler: Handler | undefined;

  async function openHandler(): Promise<Handler> {
    const [{ handlerFor }, offer] = await Promise.all([import("./handler.ts"), loadOffer()]);
    return handlerFor(deps, offer);
  }

  async function serve(
    request: Request,
    call: ToolCall,
    refuse: (error: AppError) => Response,
  ): Promise<Response> {
    mediaTypeOf(request, ["application/json"]);
    const since_ms = performance.now();
    const body = await readMessage(deps, request, call);
    if (body instanceof Response) return body;
    const actor = isLate(since_ms) ? await authenticate(deps, request) : call.actor;
    if (actor instanceof AppError) return refuse(actor);
    handler ??= await openHandler();
    return handler(request, body, call);
  }

  async function answer({ request, server, set }: Arrived): Promise<Response> {
    const origin = publicOrigin(deps.config, server);
    const { pathname } = new URL(request.url);
    rejectForeignOrigin(request, origin, server);
    const request_id = String(set.headers["x-request-id"]);
    const refuse = (error: AppError) => {
      watchAddress(deps, request, server);
      deps.refusals.count(request, error, deps.clock.now());
      const refused = errorResponse(error, { "x-request-id": request_id });
      refused.headers.set(
        "www-authenticate",
        challengeAt(origin, bearerOf(request) !== undefined, mcpAddressOf(pathname)),
      );
      return refused;
    };
    const actor = await authenticate(deps, request);
    if (actor instanceof AppError) return refuse(actor);
    countRequest(deps, actor);
    watchLargeBody(deps, request, actor);
    return serve(
      request,
      callerOf(deps, actorAt(requireMcpAddress(pathname), actor), { request, server, set }),
      refuse,
    );
  }

  const app = new Elysia({ name: "mcp" });
  for (const path of PATHS)
    app.post(path, async (context) => traceRequest(context, () => answer(context)), {
      parse: "none",
      detail: { hide: true },
    });
  return app;
}

/** The actor with the toolsets of the address only. */
function actorAt({ reachable }: McpAddress, actor: Actor): Actor {
  if (actor.kind !== "user") return actor;
  const { toolsets = reachable } = actor;
  return { ...actor, toolsets: commonToolsets(toolsets, reachable) };
}

/** The actor behind the access token, or the reason for refusal. Tokens in the query string are ignored. */
async function authenticate(deps: Deps, request: Request): Promise<Actor | AppError> {
  try {
    const token = bearerOf(request);
    if (token === undefined) throw new AppError("unauthorized", "Authorize first: send an access token");
    return await deps.authenticateAccessToken(token);
  } catch (error) {
    if (error instanceof AppError && error.kind === "unauthorized") return error;
    throw error;
  }
}

/**
 * Refuses browser requests from other sites by their Origin header (against DNS rebinding). Programs send none.
 * Errors: forbidden.
 */
function rejectForeignOrigin(request: Request, origin: string, server: ListeningServer | null): void {
  const sent = request.headers.get("origin");
  if (sent === null || sent === origin) return;
  const port = server?.port;
  const local_origins = ["localhost", "127.0.0.1", "[::1]"].map((host) => `http://${host}:${port}`);
  // Without PUBLIC_URL the service is local, under any of these names.
  if (origin === local_origins[0] && local_origins.includes(sent)) return;
  throw new AppError("forbidden", `Pages of ${sent} may not call this service`);
}

/** The JSON-RPC message, or the protocol's error response to an unreadable body. */
async function readMessage(deps: Deps, request: Request, call: ToolCall): Promise<unknown> {
  try {
    // Only strangers share room by their address.
    const message = await readJson(request, { actor: call.actor, address: null });
    // A batch would count as one request towards the rate limit; the protocol dropped batches in 2025.
    if (Array.isArray(message)) return refusal(INVALID_REQUEST, "Batches are not taken: send one message");
    return message;
  } catch (error) {
    if (!(error instanceof AppError) || !["malformed", "invalid"].includes(error.kind)) throw error;
    deps.refusals.count(request, error, deps.clock.now());
    return refusal(error.kind === "malformed" ? PARSE_ERROR : INVALID_REQUEST, error.message);
  }
}

function refusal(code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status: 400 });
}
