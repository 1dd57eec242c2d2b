import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Cleanup } from "./cleanup.ts";
import { buildRequest } from "./connection.ts";
import { type ServerProcess, startProcess } from "./processes.ts";

const EMAIL = "admin@example.com";
export const PASSWORD = "correct horse battery";

const API = "/api/v1";
const CLIENTS = 20;
const PRODUCTS = 3;
const SUBSCRIPTIONS = 50;
/** Subscriptions start before the first event. */
const STARTED = Temporal.Duration.from({ hours: 24 * 120 });

/** What a request for events names. */
export interface Subscription {
  id: number;
  external_subscription_id: string;
  client_id: number;
}

const Created = Type.Object({ data: Type.Object({ id: Type.Integer() }) });
const SignedIn = Type.Object({ token: Type.String() });

/** The service under test, as a process of its own on stores of its own, with a company's records in it. */
export class House {
  readonly subscriptions: Subscription[] = [];
  readonly data_dir: string;
  readonly #cleanup: Cleanup;
  #server: ServerProcess | undefined;
  #token = "";
  #started_ms = 0;

  private constructor(cleanup: Cleanup) {
    this.#cleanup = cleanup;
    this.data_dir = cleanup.folder();
  }

  /** Starts the service and makes the records that requests are about. */
  static async open(cleanup: Cleanup): Promise<House> {
    const house = new House(cleanup);
    await house.#start();
    await house.#fill();
    return house;
  }

  get origin(): string {
    if (this.#server === undefined) throw new Error("Cannot send requests: the service does not run");
    return this.#server.origin;
  }

  /** How long the last start took, from the command to the first answered sign-in. */
  get started_ms(): number {
    return this.#started_ms;
  }

  /** The bytes of a request by the company's admin. */
  request(method: string, path: string, body?: unknown): Uint8Array {
    const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    return buildRequest(method, API + path, { token: this.#token, ...sent });
  }

  /** The bytes of a sign-in. */
  signInRequest(): Uint8Array {
    return buildRequest("POST", `${API}/login`, {
      body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
    });
  }

  /** Calls once and checks the answer. Errors: throws when it is not of the shape. */
  async ask<T extends TSchema>(shape: T, method: string, path: string, body?: unknown): Promise<Static<T>> {
    const response = await fetch(this.origin + API + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json" },
    });
    const answer: unknown = await response.json();
    if (!Value.Check(shape, answer))
      throw new Error(
        `Cannot use the answer to ${method} ${path}: ${response.status} ${JSON.stringify(answer)}`,
      );
    return answer;
  }

  /** Stops the service, copies its usage store while nobody writes it, and starts it again. */
  async copyUsage(): Promise<string> {
    await this.#server?.stop();
    const copy = join(this.#cleanup.folder(), "usage.duckdb");
    copyFileSync(join(this.data_dir, "usage.duckdb"), copy);
    await this.#start();
    return copy;
  }

  async #start(): Promise<void> {
    const before = performance.now();
    this.#server = await startProcess(this.#cleanup, ["src/main.ts", "serve"], {
      DATA_DIR: this.data_dir,
      HOST: "127.0.0.1",
      PORT: "0",
      ADMIN_EMAIL: EMAIL,
      ADMIN_PASSWORD: PASSWORD,
      RATE_LIMIT_ENABLED: "false",
      LOG_LEVEL: "warn",
    });
    const { token } = await this.ask(SignedIn, "POST", "/login", { email: EMAIL, password: PASSWORD });
    this.#token = token;
    this.#started_ms = performance.now() - before;
  }

  async #fill(): Promise<void> {
    const clients = await this.#create(CLIENTS, "/clients", (i) => ({ name: `Client ${i}` }));
    const products = await this.#create(PRODUCTS, "/products", (i) => ({ name: `Product ${i}` }));
    const model = { billing_type_id: 2, name: "Per call", price: 0.002, currency: "USD", description: "" };
    const [billing_model_id] = await this.#create(1, "/billing-models", () => model);
    const started_at = Temporal.Now.instant().subtract(STARTED).toString({ smallestUnit: "millisecond" });
    const bodies = Array.from({ length: SUBSCRIPTIONS }, (_, i) => ({
      name: `Subscription ${i}`,
      external_subscription_id: `subscription-${i}`,
      client_id: clients[i % CLIENTS] ?? 0,
      product_id: products[i % PRODUCTS] ?? 0,
      billing_model_id,
      started_at,
    }));
    const ids = await this.#create(SUBSCRIPTIONS, "/subscriptions", (i) => bodies[i]);
    bodies.forEach((body, i) => this.subscriptions.push({ ...body, id: ids[i] ?? 0 }));
  }

  async #create(count: number, path: string, body: (i: number) => unknown): Promise<number[]> {
    const ids: number[] = [];
    for (let i = 0; i < count; i++) ids.push((await this.ask(Created, "POST", path, body(i))).data.id);
    return ids;
  }
}
