import type { Static, TObject } from "@sinclair/typebox";
import type { Deps } from "../../app/deps.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { EXIT, exitCodeOf } from "../../core/exit_codes.ts";
import { decode } from "../../core/validate.ts";
import { vouchFor } from "../../http/authentication.ts";
import { readJson } from "../../http/body.ts";
import { errorResponse } from "../../http/errors.ts";
import { listCompanies } from "../../tenancy/companies/queries.ts";
import type { Action, Actions } from "./action.ts";

/** What the operator's requests reach. */
export interface OperatorParts {
  deps: Deps;
  actions: Actions;
  /** The service's routes. */
  api: { handle(request: Request): Promise<Response> };
}

/** How often an answer that is not ready says so: whoever sits between keeps the connection. */
const SIGN_OF_LIFE_MS = 5_000;

const OPERATOR = { actor: { kind: "operator" }, address: null } as const;

/**
 * Answers the operator's requests, once it is known that they are the operator's:
 * `GET /operator`, `POST /operator/actions/NAME`, and `/operator/companies/ID/usage/…`, which is what the API has there
 * for that company.
 */
export function operatorHandler(parts: OperatorParts): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      return await route(parts, request);
    } catch (error) {
      if (error instanceof AppError) return errorResponse(error);
      parts.deps.log.error({ err: error }, "operator's request failed");
      return Response.json({ error: reasonOf(error) }, { status: 500 });
    }
  };
}

async function route(parts: OperatorParts, request: Request): Promise<Response> {
  const url = new URL(request.url);
  const { pathname } = url;
  if (pathname === "/operator") return Response.json({ data: { service: "meterhouse" } });
  const [, name] = /^\/operator\/actions\/(\w+)$/.exec(pathname) ?? [];
  if (name !== undefined && request.method === "POST") return performAction(parts, name, request);
  const [, company, path] = /^\/operator\/companies\/([1-9]\d{0,14})(\/usage\/[\w/-]+)$/.exec(pathname) ?? [];
  if (company === undefined) throw new AppError("not_found", "There is no such path for the operator");
  return forward(parts, request, Number(company), `/api/v1${path}${url.search}`);
}

/** Passes a request on to the API, as one of the company. */
async function forward(
  { deps, api }: OperatorParts,
  request: Request,
  company_id: number,
  path: string,
): Promise<Response> {
  const companies = await listCompanies(deps.store.read);
  if (!companies.some(({ id }) => id === company_id)) throw notFound("Company", company_id);
  const { method, headers, body, signal } = request;
  const forwarded = new Request(new URL(path, request.url).href, {
    method,
    headers,
    signal,
    ...(body === null ? {} : { body, duplex: "half" }),
  });
  vouchFor(forwarded, { kind: "system", company_id });
  return api.handle(forwarded);
}

async function performAction(
  { deps, actions }: OperatorParts,
  name: string,
  request: Request,
): Promise<Response> {
  const load = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (load === undefined)
    throw new AppError("not_found", `This server knows no action ${name}: is it of another version?`);
  const action = await load();
  const input = decode(action.input, await readJson(request, OPERATOR));
  return streamOf(deps, action, input);
}

/**
 * The answer to an action as lines of JSON: `{"progress"}` and `{"line"}` meanwhile, at the end `{"result"}` or
 * `{"error", "exit_code"}`. An action goes on when nobody listens any more.
 */
function streamOf(deps: Deps, action: Action, input: Static<TObject>): Response {
  let is_read = true;
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (line: object) => {
        if (is_read) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
      };
      const timer = setInterval(() => send({}), SIGN_OF_LIFE_MS);
      const work = action
        .run(deps, input, {
          progress: (share, text) => send({ progress: { share, text } }),
          line: (text) => send({ line: text }),
        })
        .then(
          (result) => send({ result }),
          (error: unknown) => {
            const is_of_caller = error instanceof AppError || exitCodeOf(error) === EXIT.wrong_words;
            if (!is_of_caller) deps.log.error({ err: error, action: action.name }, "action failed");
            send({ error: reasonOf(error), exit_code: exitCodeOf(error) });
          },
        )
        .finally(() => {
          clearInterval(timer);
          if (is_read) controller.close();
        });
      void deps.background.track(work);
    },
    cancel() {
      is_read = false;
    },
  });
  return new Response(stream, {
    // A proxy that holds lines back would hide the signs of life.
    headers: {
      "content-type": "application/x-ndjson",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    },
  });
}

/** The operator sees what went wrong, as at the command line. */
const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
