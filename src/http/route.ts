import { type Static, type TObject, type TSchema, type TUnsafe, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type AnyElysia, Elysia } from "elysia";
import { call, type Operation } from "../app/operation.ts";
import { ENVIRONMENTS } from "../core/access.ts";
import type { Download } from "../core/download.ts";
import { columnsOfRecord, csvOfRecords } from "../core/csv.ts";
import { Nothing, oneOf, strict, Sums } from "../core/schema.ts";
import { Checker } from "../core/validate.ts";
import type { Deps } from "../app/deps.ts";
import { answers, attachment, dataOf, ErrorBody } from "./responses.ts";
import { type Exchange, handle, type Row, type Schemas, type ServedRow } from "./handle.ts";
import { fromStrings } from "./params.ts";
import { traceRequest } from "./trace_request.ts";
import { type Audience, levelsOf } from "./audience.ts";

/** `GET /clients/:id`. */
type Line = `${"GET" | "POST" | "PUT" | "DELETE"} /${string}`;

/** What the routes of a group have in common. */
interface Group {
  tag: string;
  admits: Audience;
  /** False where requests do not count towards the caller's limit. */
  counted?: boolean;
  /** False where repeating a POST changes nothing: then no Idempotency-Key is taken. */
  keeps_answers?: boolean;
}

/** The parts of a route that do not follow from its operation. */
interface Options<I extends TSchema, O> {
  summary: string;
  description?: string;
  /** The summary of the same route for client users: under /my, and without client_id. */
  my?: string;
  status?: 201 | 202;
  /** Whether the work continues after the response, which is then a 202. */
  goes_on?: (output: O) => boolean;
  /** Error statuses beyond those of every route, and 404 of a path with fields. */
  errors?: readonly (400 | 401 | 404 | 409 | 503)[];
  /** Whether this change takes If-Match: the ETag of the GET at its path. Its operation changes records only. */
  if_match?: boolean;
  /** The body of a 422, if it is not the usual one. */
  refused?: TSchema;
  /** Whether the output is the whole body, not wrapped in `data`; lists always are. */
  bare?: boolean;
  /** Sends an output that is not JSON; `responses` documents it. */
  sends?: (output: Promise<O>) => Promise<Response>;
  responses?: object;
  /** An operation that answers the same as lines of JSON to who accepts these, and the schema of a line. */
  lines?: { operation: Operation<I, TUnsafe<Download>>; line: TSchema };
  /** The field of a list's records that its sums are of: where they go as CSV. */
  sums_of?: string;
}

/**
 * A route to an operation: `route("GET /clients/:id", getClient, { summary: … })`. The fields that the path names are
 * taken from it; the others are the query of a GET or DELETE, else the body, which the input's title names in the
 * documentation.
 */
export function route<I extends TObject, O extends TSchema>(
  line: Line,
  operation: Operation<I, O>,
  options: Options<I, Static<O>>,
): Row {
  const row = rowOf(line, operation, { ...options, input: operation.input });
  const { my: summary } = options;
  if (summary === undefined) return row;
  const [method, path] = line.split(" ");
  const input = without(operation.input, ["client_id"]);
  return { ...row, my: rowOf(`${method} /my${path}`, operation, { ...options, summary, input }) };
}

function rowOf<I extends TObject, O extends TSchema>(
  line: string,
  operation: Operation<I, O>,
  { input: accepted, summary, description, ...options }: Options<I, Static<O>> & { input: TObject },
): Row {
  const { output: made, name } = operation;
  const is_list = "data" in (made.properties ?? {});
  const { status = 200, goes_on, sends, bare = is_list, lines, sums_of, if_match = false } = options;
  const [method = "", path = ""] = line.split(" ");
  const parts = partsOf(method, path, accepted);
  const body = bare ? made : dataOf(made);
  const columns = method === "GET" ? columnsOfRecord(rowsOf(made)?.items ?? {}) : null;
  const responses = lines === undefined ? options.responses : jsonOrLines(body, lines.line);
  return {
    method,
    path,
    schemas: {
      ...parts,
      response: answers({
        ...(sends ? {} : { [status]: body }),
        ...(goes_on ? { 202: body } : {}),
        ...(parts.params ? { 404: ErrorBody } : {}),
        ...Object.fromEntries((options.errors ?? []).map((error) => [error, ErrorBody])),
        ...(options.refused ? { 422: options.refused } : {}),
        ...(if_match ? { 412: ErrorBody } : {}),
      }),
    },
    detail: {
      operationId: name,
      summary,
      ...(description && { description }),
      ...(responses && { responses }),
    },
    reads_body: true,
    is_list,
    ...(columns !== null && { has_csv: true }),
    ...(if_match && { takes_if_match: true }),
    async run({ ctx, input, request }: Exchange<Static<I>>) {
      if (lines !== undefined && accepts(request, LINES))
        return { status, answer: await attachment(call(ctx, lines.operation, input)) };
      const output = call(ctx, operation, input);
      if (sends) return { status, answer: await sends(output) };
      const answer = await output;
      if (columns !== null && accepts(request, CSV))
        return { status, answer: csvResponse(columns, answer, sums_of) };
      return { status: goes_on?.(answer) ? 202 : status, answer: bare ? answer : { data: answer } };
    },
  };
}

const LINES = "application/x-ndjson";

const CSV = "text/csv";

function accepts(request: Request, media_type: string): boolean {
  return request.headers.get("accept")?.toLowerCase().includes(media_type) ?? false;
}

/** The documentation of an answer that may be lines. */
function jsonOrLines(body: TSchema, line: TSchema): object {
  return { 200: { content: { "application/json": { schema: body }, [LINES]: { schema: line } } } };
}

/** Where an answer is a table: a list's records, or the groups of a report, a page of which are its rows. */
function rowsOf({ properties = {} }: TSchema): TSchema | undefined {
  return properties.data ?? (properties.groups && properties.rows);
}

/** A list or the rows of a report as CSV, its sums last. How many there are in all is in a header. */
function csvResponse(columns: Columns, answer: unknown, sums_of = ""): Response {
  if (Value.Check(AnyReport, answer))
    return csvResponse(columns, { data: answer.rows, meta: { total: answer.groups } });
  if (!Value.Check(AnyList, answer)) throw new Error("Cannot write CSV: the answer is no list");
  const headers = {
    "content-type": `${CSV}; charset=utf-8; header=present`,
    "cache-control": "private, no-store",
    "x-content-type-options": "nosniff",
    "x-total-count": String(answer.meta?.total ?? answer.data.length),
  };
  const sums = (answer.meta?.sums ?? []).map(({ currency, amount, rows }) => ({
    id: `Sum of ${rows}`,
    currency,
    [sums_of]: amount,
  }));
  return new Response(csvOfRecords(columns, [...answer.data, ...sums]), { headers });
}

const AnyList = Type.Object({
  data: Type.Array(Type.Unknown()),
  meta: Type.Optional(Type.Object({ total: Type.Optional(Type.Integer()), sums: Type.Optional(Sums) })),
});

const AnyReport = Type.Object({ rows: Type.Array(Type.Unknown()), groups: Type.Integer() });

type Columns = NonNullable<ReturnType<typeof columnsOfRecord>>;

/** A route that reads its own body or writes its own response. What is no JSON its schemas only document. */
export function endpoint<P extends TObject, Q extends TObject, B extends TObject>(
  line: Line,
  { status = 200, params, query, body, response, detail }: EndpointOptions<P, Q, B>,
  serve: (exchange: Exchange<Static<P> & Static<Q> & Static<B>>) => Promise<unknown>,
): Row {
  const [method = "", path = ""] = line.split(" ");
  return {
    method,
    path,
    schemas: {
      ...(params && { params: fromStrings(params) }),
      ...(query && { query: fromStrings(query) }),
      ...(body && { body }),
      response,
    },
    detail,
    reads_body: body !== undefined,
    is_list: false,
    async run(exchange: Exchange<Static<P> & Static<Q> & Static<B>>) {
      return { status, answer: await serve(exchange) };
    },
  };
}

interface EndpointOptions<P extends TObject, Q extends TObject, B extends TObject>
  extends Pick<Schemas, "response">,
    Pick<Row, "detail"> {
  status?: number;
  params?: P;
  query?: Q;
  /** A body that is read as JSON; without one `serve` reads what there is. */
  body?: B;
}

/** Serves the routes of a group, as a plugin of the app. */
export function routes(group: Group, rows: readonly Row[]) {
  const served = rows.map((row) => serveAs(group, row, rows));
  return (deps: Deps): AnyElysia => {
    const app = new Elysia({ tags: [group.tag] });
    for (const row of served) {
      // The OpenAPI document finds the row in the hooks.
      const hooks = { row, detail: { ...row.detail, ...(group.admits === "open" && { security: [] }) } };
      // Elysia parses only what is named here: cookies and headers would cost time.
      app.route(
        row.method,
        row.path,
        async ({ request, server, set, params, query, route: template }) =>
          traceRequest({ request, route: template, set }, () =>
            handle(deps, row, { request, server, set, params, query }),
          ),
        hooks,
      );
    }
    return app;
  };
}

function serveAs(group: Group, row: Row, rows: readonly Row[]): ServedRow {
  const { admits, counted = true, keeps_answers = admits !== "open" } = group;
  const { params, query, body, response } = row.schemas;
  const answered = Object.entries(response).filter(([status]) => Number(status) < 300);
  return {
    ...row,
    levels: levelsOf(admits),
    counted,
    takes_key: keeps_answers && row.reads_body && row.method === "POST",
    ...(row.takes_if_match && { reading: readingOf(row, rows) }),
    has_etag: row.method === "GET" && rows.some((other) => other.takes_if_match && other.path === row.path),
    checks: {
      ...(params && { params: new Checker(params) }),
      ...(query && { query: new Checker(query) }),
      ...(body && { body: new Checker(body) }),
      answers: new Map(answered.map(([status, schema]) => [Number(status), new Checker(schema)])),
    },
  };
}

/** The row that reads what another one changes. */
function readingOf({ method, path }: Row, rows: readonly Row[]): Row {
  const found = rows.find((row) => row.method === "GET" && row.path === path);
  if (found === undefined) throw new Error(`${method} ${path} takes If-Match, but nothing answers GET there`);
  return found;
}

/** Serves the /my twins of the routes that have one. */
export const myRoutes = (rows: readonly Row[], group: Partial<Group> = {}) =>
  routes(
    { tag: "Self-service", admits: "client", ...group },
    rows.flatMap(({ my }) => my ?? []),
  );

/**
 * Serves the routes of lenders' machines to users of the company: under /lending, in the environment that the path names.
 */
export const lendingRoutes = (rows: readonly Row[]) =>
  routes({ tag: "Lending by users", admits: "company" }, rows.map(inEnvironment));

const InEnvironment = strict({ environment: oneOf(ENVIRONMENTS) });

function inEnvironment(row: Row): Row {
  const { method, path, schemas } = row;
  return {
    ...row,
    path: path.replace("/lender/", "/lending/:environment/"),
    schemas: {
      ...schemas,
      params: strict({ ...InEnvironment.properties, ...schemas.params?.properties }),
      response: { 404: ErrorBody, ...schemas.response },
    },
    run({ ctx, input, ...exchange }: Exchange<Static<typeof InEnvironment>>) {
      const { environment, ...given } = input;
      const { actor } = ctx;
      if (actor.kind !== "user") throw new Error(`Cannot serve ${method} ${path}: its caller is no user`);
      return row.run({ ...exchange, ctx: { ...ctx, actor: { ...actor, environment } }, input: given });
    },
  };
}

/** Where an input's fields arrive: in the path, in the query or in the body. */
function partsOf(method: string, path: string, input: TObject): Omit<Schemas, "response"> {
  const names = Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => name);
  const rest = names.length === 0 ? input : without(input, names);
  const has_rest = Object.keys(rest.properties).length > 0;
  const is_query = method === "GET" || method === "DELETE";
  return {
    ...(names.length > 0 && { params: fromStrings(without(input, Object.keys(rest.properties))) }),
    ...(is_query
      ? has_rest && { query: fromStrings(rest) }
      : { body: has_rest ? withExamples(rest, input) : Nothing }),
  };
}

/** A body with the examples of its input, which leave out what is in the path. */
function withExamples(body: TObject, { examples }: TObject): TObject {
  return examples === undefined ? body : { ...body, examples };
}

/** An input without some of its fields. */
function without(input: TObject, names: readonly string[]): TObject {
  const fields = Object.entries(input.properties).filter(([name]) => !names.includes(name));
  return strict(Object.fromEntries(fields), input.title === undefined ? {} : { title: input.title });
}
