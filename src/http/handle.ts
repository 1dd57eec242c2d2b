import type { TObject, TSchema } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import type { Actor, Level } from "../core/access.ts";
import { isLongList, partsOf, stringifyList } from "../core/long_list.ts";
import type { Checker } from "../core/validate.ts";
import type { Deps } from "../app/deps.ts";
import { mediaTypeOf, readJson } from "./body.ts";
import { type Answer, claimOf, digestOf, JSON_TYPE, runOnce } from "./idempotency.ts";
import { etagOf, unlessChanged } from "./if_match.ts";
import { assertNoNul } from "./json.ts";
import { addressOf, type ListeningServer } from "./address.ts";
import { type Arrived, authenticate, callerOf, isLate, signIn } from "./authentication.ts";

/** A request as the router passes it on. */
export interface Arrival extends Arrived {
  params: Record<string, string>;
  query: Record<string, string>;
}

/** An authenticated request with checked input. */
export interface Exchange<Input = object> {
  deps: Deps;
  ctx: Context;
  /** The fields of path, query and body. */
  input: Input;
  request: Request;
  server: ListeningServer | null;
}

/** The schemas of a route: they check requests and responses, and document them. */
export interface Schemas {
  params?: TObject;
  query?: TObject;
  body?: TObject;
  response: Record<number, TSchema>;
}

/** One route: a row of a family's table. */
export interface Row {
  method: string;
  path: string;
  schemas: Schemas;
  /** Its documentation beside the schemas. */
  detail: { summary: string; [name: string]: unknown };
  /** Whether the body is read as JSON first; else `run` reads it. */
  reads_body: boolean;
  /** Whether it answers a list, which may be large. */
  is_list: boolean;
  /** Whether it answers the list as CSV to who accepts that. */
  has_csv?: boolean;
  /** A method, so that a row may declare the input type that its own schemas check. */
  run(exchange: Exchange): Promise<Answer>;
  /** Whether a change is refused where If-Match names the record as it is no longer. */
  takes_if_match?: boolean;
  /** The same route for client users. */
  my?: Row;
}

/** A row with the rules of its group. */
export interface ServedRow extends Row {
  /** The levels that it admits; none: open to anyone. */
  levels: readonly Level[];
  /** Whether requests count towards the caller's limit. */
  counted: boolean;
  /** Whether an Idempotency-Key makes it run once. */
  takes_key: boolean;
  /** The GET at the path of a change that takes If-Match. */
  reading?: Row;
  /** Whether its answer has an ETag, for such a change. */
  has_etag: boolean;
  checks: {
    params?: Checker<TObject>;
    query?: Checker<TObject>;
    body?: Checker<TObject>;
    answers: ReadonlyMap<number, Checker<TSchema>>;
  };
}

/**
 * Serves a request: authenticates the caller, counts the request, reads the body, checks the input, claims the
 * Idempotency-Key, runs the row and stores its response. Each step may refuse it, in this order.
 */
export async function handle(deps: Deps, row: ServedRow, arrival: Arrival): Promise<unknown> {
  const { request, server, set } = arrival;
  const sender = await signIn(deps, row, arrival);
  const { actor, body, digest } = await receive(deps, row, arrival, sender);
  assertNoNul(request.url);
  const claim = row.takes_key ? claimOf(deps, request, actor, digest) : null;
  const opened = deps.openContext(callerOf(deps, actor, arrival, claim));
  const input = inputOf(row.checks, arrival, body);
  const ctx = conditional(row, arrival, { deps, ctx: opened, input, request, server });
  const run = () => runChecked(row, { deps, ctx, input, request, server });
  const { status, answer } = await (claim === null ? run() : runOnce(ctx, claim, run));
  if (row.has_etag && !request.url.includes("?")) set.headers.etag = etagOf(answer);
  if (!(answer instanceof Response)) set.status = status;
  if (!isLongList(answer)) return answer;
  set.headers["content-type"] = JSON_TYPE;
  return stringifyList(answer);
}

/** Reads the body; a caller whose body took long to arrive is authenticated again. */
async function receive(deps: Deps, row: ServedRow, { request, server }: Arrival, actor: Actor) {
  // These have no body, even if the client names a type for one.
  if (!row.reads_body || row.method === "GET" || row.method === "DELETE")
    return { actor, body: {}, digest: "" };
  const since_ms = performance.now();
  mediaTypeOf(request, ["application/json"]);
  let digest = "";
  const is_open = actor.kind === "anonymous";
  const sender = { actor, address: is_open ? addressOf(deps, request, server) : null };
  const body = await readJson(request, sender, {
    look: (bytes) => {
      if (row.takes_key) digest = digestOf(request, bytes);
    },
  });
  return { actor: isLate(since_ms) && !is_open ? await authenticate(deps, request) : actor, body, digest };
}

/** The context of a request: that of a change with If-Match refuses it where the GET at its path answers otherwise. */
function conditional({ reading, checks }: ServedRow, { params }: Arrival, exchange: Exchange): Context {
  if (reading === undefined) return exchange.ctx;
  const input = checks.params?.read(params) ?? {};
  return unlessChanged(exchange.ctx, exchange.request, async (ctx) => {
    const { answer } = await reading.run({ ...exchange, ctx, input });
    return answer;
  });
}

/** The input, merged from path, query and body. Errors: invalid. */
function inputOf({ params, query, body }: ServedRow["checks"], arrival: Arrival, sent: unknown): object {
  return { ...params?.read(arrival.params), ...query?.read(arrival.query), ...body?.read(sent) };
}

/** Runs the row. A response that breaks its schema is a bug here, not the caller's error. */
async function runChecked(row: ServedRow, exchange: Exchange): Promise<Answer> {
  const made = await row.run(exchange);
  const check = made.answer instanceof Response ? undefined : row.checks.answers.get(made.status);
  if (check !== undefined && !(await fits(check, made.answer)))
    throw new Error(`The answer of ${row.method} ${row.path} breaks its schema`);
  return made;
}

/** Whether the answer fits its schema; that of a long list must not bound its length. */
async function fits(check: Checker<TSchema>, answer: unknown): Promise<boolean> {
  if (!isLongList(answer)) return check.fits(answer);
  for await (const part of partsOf(answer)) if (!check.fits(part)) return false;
  return true;
}
