import type { Static, TSchema } from "@sinclair/typebox";
import { noticeBuild } from "./build.ts";

/** What a call is given: fields of its path by name; the others are the query of a GET or DELETE, else the body. */
export type Input = Record<string, unknown>;

/** A value in a path or query, as text. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Where a list's page is. */
export interface Meta {
  page?: number;
  limit?: number;
  total?: number;
  total_pages?: number;
  next_cursor?: string | null;
  /** Of all rows that match, where they were asked for. */
  sums?: readonly { currency: string; amount: string }[];
  /** Of metadata keys: the events that they come from, and whether these are all events, and all their keys. */
  events?: number;
  all_events?: boolean;
  all_keys?: boolean;
}

export interface Answer<T> {
  data: T;
  meta?: Meta;
  /** Of a record that may be changed: a change names by it what it was made to. */
  etag?: string | undefined;
}

type Method = "GET" | "POST" | "PUT" | "DELETE";

/** An operation of the REST interface: its path below /api/v1, and the type that it answers with. */
export interface Endpoint<T> {
  method: Method;
  path: string;
  /** Never there: it carries the type. */
  answer?: T;
}

/** What is received: whole numbers that the service writes digit by digit are numbers here. */
export type Received<T> = T extends { readonly rawJSON: string }
  ? number
  : T extends readonly (infer Item)[]
    ? Received<Item>[]
    : T extends object
      ? { [Name in keyof T]: Received<T[Name]> }
      : T;

const endpoint =
  (method: Method) =>
  (path: string): Endpoint<never> => ({ method, path });

type ToOne = <S extends TSchema>(path: string) => Endpoint<Received<Static<S>>>;
type ToMany = <S extends TSchema>(path: string) => Endpoint<Received<Static<S>>[]>;

/** `get<typeof ClientDetail>("/clients/:id")`: one record. */
export const get: ToOne = endpoint("GET");
/** A list of records, whose pages come with `meta`. */
export const list: ToMany = endpoint("GET");
export const post: ToOne = endpoint("POST");
/** A list that is asked for by a body. */
export const find: ToMany = endpoint("POST");
export const put: ToOne = endpoint("PUT");
export const remove: ToOne = endpoint("DELETE");

/** The same operations elsewhere, such as below `/my`. */
export function below<Calls extends Record<string, Endpoint<unknown>>>(root: string, calls: Calls): Calls {
  const moved = Object.entries(calls).map(([name, to]) => [name, { ...to, path: root + to.path }]);
  // Each has the type of what it was made from.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(moved) as Calls;
}

/** A refusal, or an answer that did not come. */
export class Failure extends Error {
  /** 0: no answer came. */
  readonly status: number;
  /** By field: a JSON pointer into what was sent. */
  readonly details: readonly { path: string; message: string }[];
  readonly request_id: string | null;
  /** Seconds until trying again makes sense. */
  readonly retry_after_s: number | null;

  constructor(message: string, from: Partial<Failure> = {}) {
    super(message);
    this.status = from.status ?? 0;
    this.details = from.details ?? [];
    this.request_id = from.request_id ?? null;
    this.retry_after_s = from.retry_after_s ?? null;
  }
}

/** What was thrown, as a failure that can be shown. */
export const failureFrom = (error: unknown): Failure =>
  error instanceof Failure ? error : new Failure(error instanceof Error ? error.message : String(error));

const API = "/api/v1";

/** The address of a call, for links to files and pages too. */
export function urlOf(
  { method, path }: Pick<Endpoint<unknown>, "method" | "path">,
  input: Input = {},
): string {
  const { rest, filled } = fill(path, input);
  const query = method === "GET" || method === "DELETE" ? queryOf(rest) : "";
  return `${API}${filled}${query === "" ? "" : `?${query}`}`;
}

/** Puts the fields of a path into it; the rest is left. */
function fill(path: string, input: Input): { filled: string; rest: Input } {
  const rest = { ...input };
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    return encodeURIComponent(textOf(value));
  });
  return { filled, rest };
}

function queryOf(input: Input): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || value === null || value === "") continue;
    query.set(name, textOf(value));
  }
  return query.toString();
}

/** Called when an answer is 401: the session has ended. */
let onSignedOut = (): void => {};
export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

export interface Sending {
  signal?: AbortSignal;
  /** One for each submission: a repeat is answered as the first was. */
  key?: string;
  /** The `etag` of the record that is changed: refused with 412 if it is another by then. */
  if_match?: string | undefined;
  /** A 401 is an answer like others: while signing in. */
  is_sign_in?: boolean;
}

/** Calls an operation. Errors: Failure. */
export async function send<T>(to: Endpoint<T>, input: Input = {}, sending: Sending = {}): Promise<Answer<T>> {
  const { rest } = fill(to.path, input);
  const has_body = to.method === "POST" || to.method === "PUT";
  const response = await request(urlOf(to, input), {
    method: to.method,
    headers: {
      accept: "application/json",
      ...(has_body && { "content-type": "application/json" }),
      ...(sending.key !== undefined && { "idempotency-key": sending.key }),
      ...(sending.if_match !== undefined && { "if-match": sending.if_match }),
    },
    ...(has_body && { body: JSON.stringify(rest) }),
    ...(sending.signal && { signal: sending.signal }),
  });
  if (!response.ok) throw await failureOf(response, sending.is_sign_in ?? false);
  const answer: Answer<T> = await response.json();
  const etag = response.headers.get("etag");
  return etag === null ? answer : { ...answer, etag };
}

/** Fetches anything of the service, such as a stream. Errors: Failure when no answer came, or a refusal. */
export async function fetchRaw(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await request(url, init);
  if (!response.ok) throw await failureOf(response, false);
  return response;
}

async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, { credentials: "same-origin", ...init });
    noticeBuild(response.headers.get("x-meterhouse-build"));
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Failure("The service did not answer");
  }
}

async function failureOf(response: Response, is_sign_in: boolean): Promise<Failure> {
  if (response.status === 401 && !is_sign_in) onSignedOut();
  const body: { error?: string; details?: Failure["details"] } = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get("retry-after"));
  return new Failure(body.error ?? `The service answered ${response.status}`, {
    status: response.status,
    details: body.details ?? [],
    request_id: response.headers.get("x-request-id"),
    retry_after_s: wait > 0 ? wait : null,
  });
}
