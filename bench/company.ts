import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { buildRequest } from "./connection.ts";
import { PASSWORD, type Service } from "./service.ts";

const API = "/api/v1";
/** Subscriptions start before the first event. */
const STARTED = Temporal.Duration.from({ hours: 24 * 120 });

/** What a request for events names. */
export interface Subscription {
  id: number;
  external_subscription_id: string;
  client_id: number;
  product_id: number;
}

/** How many records a company gets. */
export interface RecordCounts {
  clients: number;
  products: number;
  subscriptions: number;
}

/** The answer to a POST that made a record. */
export const Created = Type.Object({ data: Type.Object({ id: Type.Integer() }) });
const SignedIn = Type.Object({ token: Type.String() });

/** A company of the service, by its admin: requests in its name, and the records that they are about. */
export class Company {
  readonly id: number;
  readonly email: string;
  subscriptions: readonly Subscription[] = [];
  readonly #service: Service;
  #token = "";

  constructor(service: Service, id: number, email: string) {
    this.#service = service;
    this.id = id;
    this.email = email;
  }

  get origin(): string {
    return this.#service.origin;
  }

  /** Signs the admin in; the token holds as long as the data directory's secret. */
  async signIn(): Promise<void> {
    const { token } = await this.fetchJson(SignedIn, "POST", "/login", {
      email: this.email,
      password: PASSWORD,
    });
    this.#token = token;
  }

  /** The bytes of a request by the admin. */
  request(method: string, path: string, body?: unknown): Uint8Array {
    const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    return buildRequest(method, API + path, { token: this.#token, ...sent });
  }

  /** The bytes of a sign-in. */
  signInRequest(): Uint8Array {
    return buildRequest("POST", `${API}/login`, {
      body: JSON.stringify({ email: this.email, password: PASSWORD }),
    });
  }

  /** Calls once, however long the answer is; `body` is JSON, and text is CSV. */
  fetch(
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const is_csv = typeof body === "string";
    const sent = body === undefined ? {} : { body: is_csv ? body : JSON.stringify(body) };
    const type = is_csv ? "text/csv" : "application/json";
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": type, ...more };
    return fetch(this.origin + API + path, { method, ...sent, headers, ...(signal && { signal }) });
  }

  /** Calls once and checks the answer. Errors: throws when it is not of the shape. */
  async fetchJson<T extends TSchema>(
    shape: T,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Static<T>> {
    const response = await this.fetch(method, path, body);
    const answer: unknown = await response.json();
    if (!Value.Check(shape, answer))
      throw new Error(
        `Cannot use the answer to ${method} ${path}: ${response.status} ${JSON.stringify(answer)}`,
      );
    return answer;
  }

  /** Makes its records, which are the same every time. */
  async makeRecords(counts: RecordCounts): Promise<void> {
    const clients = await this.#create(counts.clients, "/clients", (i) => ({ name: `Client ${i}` }));
    const products = await this.#create(counts.products, "/products", (i) => ({ name: `Product ${i}` }));
    const model = { billing_type_id: 2, name: "Per call", price: 0.002, currency: "USD", description: "" };
    const [billing_model_id] = await this.#create(1, "/billing-models", () => model);
    const started_at = Temporal.Now.instant().subtract(STARTED).toString({ smallestUnit: "millisecond" });
    const bodies = Array.from({ length: counts.subscriptions }, (_, i) => ({
      name: `Subscription ${i}`,
      external_subscription_id: `subscription-${i}`,
      client_id: clients[i % counts.clients] ?? 0,
      product_id: products[i % counts.products] ?? 0,
      billing_model_id,
      started_at,
    }));
    const ids = await this.#create(counts.subscriptions, "/subscriptions", (i) => bodies[i]);
    this.subscriptions = bodies.map(({ external_subscription_id, client_id, product_id }, i) => ({
      id: ids[i] ?? 0,
      external_subscription_id,
      client_id,
      product_id,
    }));
  }

  async #create(count: number, path: string, body: (i: number) => unknown): Promise<number[]> {
    const ids: number[] = [];
    for (let i = 0; i < count; i++) ids.push((await this.fetchJson(Created, "POST", path, body(i))).data.id);
    return ids;
  }
}
