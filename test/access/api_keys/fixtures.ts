import { type AnyElysia, Elysia } from "elysia";
import { errorHandler } from "../../../src/http/error_handler.ts";
import { type Api, apiOf, type Service, type Json, type Tenant } from "../../support/harness.ts";

/** A key as its company made it, with the machine that calls by it. */
export interface Machine {
  key: Json;
  token: string;
  api: Api;
}

export async function addKey({ api }: Tenant, role: string, environment = "production"): Promise<Json> {
  const { status, body } = await api("POST", "/api-keys", { name: `A ${role}`, role, environment });
  if (status !== 201) throw new Error(`Cannot add a key: ${status} ${JSON.stringify(body)}`);
  return body.data;
}

export function exchange({ anonymous }: Pick<Service, "anonymous">, { clientId, clientSecret }: Json) {
  return anonymous("POST", "/auth/token", { clientId, clientSecret });
}

export function withToken({ url }: Pick<Service, "url">, token: string): Api {
  return apiOf(url, { authorization: `Bearer ${token}` });
}

/** A machine with a new key of the tenant's, its token in hand. */
export async function addMachine(
  service: Service,
  tenant: Tenant,
  role: string,
  environment = "production",
): Promise<Machine> {
  const key = await addKey(tenant, role, environment);
  const { status, body } = await exchange(service, key);
  if (status !== 200) throw new Error(`Cannot exchange a key: ${status} ${JSON.stringify(body)}`);
  return { key, token: body.token, api: withToken(service, body.token) };
}

/** Serves routes of a test's own over the service's stores. */
export function serve(service: Service, routes: AnyElysia): { url: string; stop(): Promise<unknown> } {
  const app: AnyElysia = new Elysia({ normalize: false })
    .use(errorHandler(service.deps, () => app.routes))
    .group("/api/v1", (api) => api.use(routes))
    .listen({ port: 0, hostname: "127.0.0.1" });
  return { url: `http://127.0.0.1:${app.server?.port}`, stop: () => app.stop() };
}
