import { type Api, apiOf, type Service, PASSWORD, type Tenant } from "../../support/harness.ts";
import { uuid } from "../fixtures.ts";

export const NDJSON = { "content-type": "application/x-ndjson" };

/** Sends lines: values become JSON, text and bytes stay as they are. */
export function sendLines(api: Api, lines: readonly unknown[]) {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  return api("POST", "/usage/events", text, NDJSON);
}

/** Events with ids of their own, numbered from `from`. */
export function eventLines(count: number, change: object = {}, from = 1): object[] {
  return Array.from({ length: count }, (_, i) => ({
    id: uuid(from + i),
    external_subscription_id: "acme",
    usage: 1,
    ...change,
  }));
}

/** A body that is written by hand while it is being sent. */
export interface OpenStream {
  write(text: string | Uint8Array): void;
  end(): void;
  answer: Promise<{ status: number; body: ReturnType<typeof JSON.parse>; headers: Headers }>;
}

/** Begins to send a stream, by the tenant's admin unless a token is given, and leaves it open. */
export async function openStream(
  service: Service,
  { admin_email }: Tenant,
  token?: string,
): Promise<OpenStream> {
  const { writable, readable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const headers = { authorization: `Bearer ${token ?? (await tokenOf(service, admin_email))}`, ...NDJSON };
  const request = fetch(`${service.url}/api/v1/usage/events`, { method: "POST", body: readable, headers });
  return {
    // The answer tells what became of it: a body that is refused half-way is not the writer's failure.
    write: (text) => void writer.write(Buffer.from(text)).catch(() => undefined),
    end: () => void writer.close().catch(() => undefined),
    answer: request.then(async (response) => ({
      status: response.status,
      body: await response.json(),
      headers: response.headers,
    })),
  };
}

/** A token of a user of the tests. */
export async function tokenOf(service: Service, email: string): Promise<string> {
  const login = await apiOf(service.url, {})("POST", "/login", { email, password: PASSWORD });
  return login.body.token;
}
