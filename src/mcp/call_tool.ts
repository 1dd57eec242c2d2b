import type { CallToolResult, InputRequiredResult } from "@modelcontextprotocol/server";
import type { Claim } from "../app/claim.ts";
import type { Context } from "../app/context.ts";
import type { Caller, Deps } from "../app/deps.ts";
import { type Actor, principalOf, privilegesOf, scopeOf, ENVIRONMENTS } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { isLongList, stringifyList } from "../core/long_list.ts";
import { askPerson, DECLINED, isConfirmed, type Person, type Question } from "./confirmation.ts";
import { type IdFinders, renamed, withIds } from "./ids.ts";
import { LIMITS } from "./limits.ts";
import { decode } from "../core/validate.ts";
import { parseExactly } from "../core/whole_number.ts";
import { unavailableError } from "../store/constraints.ts";
import type { Tool, Viewer } from "./tool.ts";
import type { ToolSet } from "./tool_set.ts";

type Arguments = Record<string, unknown>;

/** A call over MCP: the actor behind the access token, and the HTTP request. */
export type ToolCall = Omit<Caller, "origin" | "claim">;

/** An error's own message names up to this many broken rules. */
const DETAILS_IN_MESSAGE = 3;

/** Statuses under which a `request_id` is completed: only the first stores the response for repeats. */
const DONE = 200;
const NOT_DONE = 503;

/** A tool's answer as text; or a whole result where it did nothing, since a person has to be asked first. */
type Outcome = string | CallToolResult | InputRequiredResult;

/**
 * Calls a tool and puts errors into words. What REST would refuse becomes a result with `isError` that says what to
 * do next; anything else that is thrown is logged, and the result names the request's id only.
 */
export async function callTool(
  deps: Deps,
  { tools, finders }: { tools: ToolSet; finders: IdFinders },
  caller: ToolCall,
  tool: Tool,
  { raw_input, person }: { raw_input: unknown; person: Person },
): Promise<CallToolResult | InputRequiredResult> {
  try {
    const takes = new Set(Object.keys(tool.input.properties));
    const named = renamed(takes, raw_input ?? {});
    const actor = actorOf(caller, tool, Object(named));
    const known = await withIds(
      deps.openContext({ ...caller, actor, origin: "mcp" }),
      findersOf(takes, finders),
      named,
    );
    const input: Arguments = decode(tool.input, known);
    const outcome = await resultOf(deps, caller, tool, input, person);
    if (typeof outcome !== "string") return outcome;
    return { content: [{ type: "text", text: outcome }], structuredContent: parseExactly(outcome) };
  } catch (error) {
    const app_error = error instanceof AppError ? error : unavailableError(error);
    if (app_error?.kind === undefined || app_error.kind === "unavailable") {
      const { request_id } = caller;
      deps.log.error(
        { err: error, request_id, tool: tool.name },
        app_error ? "unavailable" : "internal error",
      );
    }
    const text = app_error
      ? explain(app_error, raw_input, { tools, tool }, { actor: caller.actor, config: deps.config })
      : `Internal error: its cause is in the log; the request id is ${caller.request_id}`;
    return { content: [{ type: "text", text }], isError: true };
  }
}

/** The tool's result as JSON; a repeated `request_id`, or the same confirmation again, replays the stored one. */
async function resultOf(
  deps: Deps,
  caller: ToolCall,
  tool: Tool,
  { confirm, ...input }: Arguments,
  person: Person,
): Promise<Outcome> {
  const token = tool.is_asking ? tokenOf(confirm ?? person.token) : undefined;
  const actor = actorOf(caller, tool, input);
  const claim = claimOf(deps, caller.actor, tool, input, token);
  const stored = await claim?.acquire();
  if (stored) return stored.body;
  let settled = NOT_DONE;
  let body = "";
  try {
    const unclaimed = deps.openContext({ ...caller, actor, origin: "mcp" });
    const question = await questionOf(unclaimed, tool, input);
    if (question !== null && person.answer === "no") return DECLINED;
    if (question !== null && !isConfirmed(unclaimed, question, token))
      return askPerson(unclaimed, question, person);
    const ctx = deps.openContext({ ...caller, actor, origin: "mcp", claim });
    const result = await tool.run(ctx, input);
    body = isLongList(result) ? await stringifyList(result) : JSON.stringify(result);
    settled = DONE;
  } finally {
    const answer = settled === DONE ? { status: DONE, headers: {}, body } : null;
    // The change has been committed, so its result is returned even if it cannot be stored for repeats.
    await claim?.complete(settled, answer).catch((error) => {
      deps.log.error({ err: error, request_id: caller.request_id }, "cannot store a response for repeats");
    });
  }
  // A write has been carried out, however long its result.
  if (tool.is_read_only) assertShort(body);
  return body;
}

/** A token as we make them; anything else is none. */
function tokenOf(text: unknown): string | undefined {
  return typeof text === "string" && /^[0-9a-z]{1,9}\.[\w-]{43}$/.test(text) ? text : undefined;
}

/** What a person has to be asked before the tool runs; null where it may just run. */
async function questionOf(ctx: Context, tool: Tool, input: Arguments): Promise<Question | null> {
  const what_will_happen = await tool.asks(ctx, input);
  if (what_will_happen === null) return null;
  return { tool: tool.name, input: JSON.stringify(input, sortKeys), what_will_happen };
}

/** The finders of the parameters that a tool takes. */
function findersOf(takes: ReadonlySet<string>, finders: IdFinders): IdFinders {
  return Object.fromEntries(
    Object.entries(finders).filter(([field]) => takes.has(field) || takes.has(`${field}s`)),
  );
}

/** The actor of the call, in the environment that the input names where the tool takes one. */
function actorOf({ actor }: ToolCall, { takes_environment }: Tool, input: Arguments): Actor {
  const environment = ENVIRONMENTS.find((word) => word === input.environment);
  if (!takes_environment || environment === undefined || actor.kind !== "user") return actor;
  return { ...actor, environment };
}

/** A JSON replacer that sorts keys: models repeat a request with its fields in another order. */
function sortKeys(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The claim by the caller's `request_id`, else by the token of a confirmation: a yes counts once. */
function claimOf(
  deps: Deps,
  actor: Actor,
  tool: Tool,
  { request_id, ...request }: Arguments,
  token: string | undefined,
): Claim | null {
  const key = request_id ?? token;
  const owner = principalOf(actor);
  if (typeof key !== "string" || owner === null) return null;
  const canonical = JSON.stringify([...privilegesOf(actor), request], sortKeys);
  const digest = new Bun.CryptoHasher("sha256").update(canonical).digest("hex");
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

/** Refuses a result that is too long for a model, naming what makes it shorter. Errors: malformed. */
function assertShort(body: string): void {
  if (body.length <= LIMITS.mcp_answer_characters) return;
  throw new AppError(
    "malformed",
    `The result would have ${body.length} characters, of at most ${LIMITS.mcp_answer_characters}: ask for less with limit, a narrower filter or window of time, coarser groups, or response_format concise`,
  );
}

/** The error as text for a model: each broken rule, and the tool that finds valid values. */
function explain(
  error: AppError,
  input: unknown,
  { tools, tool }: { tools: ToolSet; tool: Tool },
  viewer: Viewer,
): string {
  const { kind, details = [], retry_after_s } = error;
  // REST calls it by its header.
  const lines = [error.message.replaceAll("Idempotency-Key", "request_id")];
  if (details.length > DETAILS_IN_MESSAGE)
    lines.push(...details.map(({ path, message }) => `${path}: ${message}`));
  if (retry_after_s !== undefined) lines.push(`Try again in ${retry_after_s} s.`);
  if (kind === "conflict") lines.push("Read the record again before you try another way.");
  const named = details.map(({ path }) => path.split("/")[1] ?? "");
  if (named.includes("environment"))
    lines.push(`environment is one of ${ENVIRONMENTS.join(", ")}; nothing is assumed.`);
  const input_names = kind === "not_found" || kind === "forbidden" ? Object.keys(Object(input)) : [];
  for (const field of new Set([...named, ...input_names])) {
    const finder = tools.finderOf(viewer, field, tool);
    if (finder) lines.push(`${finder.name} finds a valid ${field}.`);
  }
  // It may quote the caller's own parameter names, which can be of any length.
  return lines.join("\n").slice(0, LIMITS.mcp_refusal_characters);
}
