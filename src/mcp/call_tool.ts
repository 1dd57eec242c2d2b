import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Claim } from "../app/claim.ts";
import type { Caller, Deps } from "../app/deps.ts";
import { type Actor, ownerOf, rightsOf, scopeOf, ENVIRONMENTS } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { decode } from "../core/validate.ts";
import { parseExactly } from "../core/whole_number.ts";
import { outage } from "../store/constraints.ts";
import type { Tool, Viewer } from "./tool.ts";
import type { ToolSet } from "./tool_set.ts";

type Arguments = Record<string, unknown>;

/** Who calls over MCP: the actor behind the access token, and the HTTP request that it came with. */
export type AgentCall = Omit<Caller, "origin" | "claim">;

/** An error's own message tells as many broken rules. */
const TOLD = 3;

/** How an answer was settled under a `request_id`: what is not final is not kept. */
const DONE = 200;
const NOT_DONE = 503;

/**
 * Calls a tool. What REST would refuse becomes an answer with `isError` that tells the model what to do next;
 * whatever else is thrown tells nothing but the request's id, and is logged.
 */
export async function callTool(
  deps: Deps,
  tools: ToolSet,
  caller: AgentCall,
  tool: Tool,
  given: unknown,
): Promise<CallToolResult> {
  try {
    const input: Arguments = decode(tool.input, given ?? {});
    const text = await answerOf(deps, caller, tool, input);
    return { content: [{ type: "text", text }], structuredContent: parseExactly(text) };
  } catch (error) {
    const known = error instanceof AppError ? error : outage(error);
    if (known?.kind === undefined || known.kind === "unavailable") {
      const { request_id } = caller;
      deps.log.error({ err: error, request_id, tool: tool.name }, known ? "unavailable" : "internal error");
    }
    const text = known
      ? explain(known, given, tools, { actor: caller.actor, config: deps.config })
      : `Internal error: nothing can be said of it here. Its request id is ${caller.request_id}`;
    return { content: [{ type: "text", text }], isError: true };
  }
}

/** The answer as JSON. A `request_id` that was answered before is answered the same. */
async function answerOf(deps: Deps, caller: AgentCall, tool: Tool, input: Arguments): Promise<string> {
  const claim = claimOf(deps, caller.actor, tool, input);
  const kept = await claim?.take();
  if (kept) return kept.body;
  let settled = NOT_DONE;
  let body = "";
  try {
    // As the caller's parts, not copied: its address is found out only when it is asked for.
    const ctx = deps.openContext({
      actor: actorOf(caller, tool, input),
      origin: "mcp",
      request_id: caller.request_id,
      claim,
      get address() {
        return caller.address;
      },
    });
    body = JSON.stringify(await tool.run(ctx, input));
    settled = DONE;
  } finally {
    const answer = settled === DONE ? { status: DONE, headers: {}, body } : null;
    // What was changed stays changed, and is answered.
    await claim?.settle(settled, answer).catch((error) => {
      deps.log.error({ err: error, request_id: caller.request_id }, "cannot keep an answer for repeats");
    });
  }
  // What was written has been done, whatever its answer's length.
  if (tool.is_read_only) refuseLong(body);
  return body;
}

/** Who acts: on loans, in the environment that the tool is told. */
function actorOf({ actor }: AgentCall, { is_for_loans }: Tool, input: Arguments): Actor {
  const environment = ENVIRONMENTS.find((word) => word === input.environment);
  if (!is_for_loans || environment === undefined || actor.kind !== "user") return actor;
  return { ...actor, environment };
}

/** For JSON with the fields in one order: models write the same request in another. */
function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function claimOf(deps: Deps, actor: Actor, tool: Tool, input: Arguments): Claim | null {
  const { request_id: key, ...request } = input;
  const owner = ownerOf(actor);
  if (typeof key !== "string" || owner === null) return null;
  const told = JSON.stringify([...rightsOf(actor), request], inOrder);
  const digest = new Bun.CryptoHasher("sha256").update(told).digest("hex");
  return deps.openClaim({
    company_id: scopeOf(actor).company_id,
    owner,
    method: "MCP",
    path: tool.name,
    key,
    digest,
    now: deps.clock.now(),
  });
}

/** A model reads all that it gets: an answer beyond its bound is refused with what makes it shorter. */
function refuseLong(body: string): void {
  if (body.length <= LIMITS.mcp_answer_characters) return;
  throw new AppError(
    "malformed",
    `The answer would have ${body.length} characters, of at most ${LIMITS.mcp_answer_characters}: ask for less with limit, a narrower filter or window of time, coarser groups, or response_format concise`,
  );
}

/** The error in words that tell a model what to do: each broken rule, and the tool that finds what is missing. */
function explain(error: AppError, given: unknown, tools: ToolSet, viewer: Viewer): string {
  const { kind, details = [], retry_after_s } = error;
  // On REST the key is a header.
  const lines = [error.message.replaceAll("Idempotency-Key", "request_id")];
  if (details.length > TOLD) lines.push(...details.map(({ path, message }) => `${path}: ${message}`));
  if (retry_after_s !== undefined) lines.push(`Try again in ${retry_after_s} s.`);
  if (kind === "conflict") lines.push("Read the record again before you try another way.");
  const named = details.map(({ path }) => path.split("/")[1] ?? "");
  if (named.includes("environment"))
    lines.push(`environment is one of ${ENVIRONMENTS.join(", ")}; nothing is assumed.`);
  const asked = kind === "not_found" || kind === "forbidden" ? Object.keys(Object(given)) : [];
  for (const field of new Set([...named, ...asked])) {
    const finder = tools.finderOf(viewer, field);
    if (finder) lines.push(`${finder.name} finds a valid ${field}.`);
  }
  // Names that the caller made up stand in it, as long as they came.
  return lines.join("\n").slice(0, LIMITS.mcp_refusal_characters);
}
