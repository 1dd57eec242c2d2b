import { type Api, apiOf, type House, type Json, type Tenant } from "../../harness.ts";

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

export function exchange({ anonymous }: House, { clientId, clientSecret }: Json) {
  return anonymous("POST", "/auth/token", { clientId, clientSecret });
}

export function withToken({ url }: House, token: string): Api {
  return apiOf(url, { authorization: `Bearer ${token}` });
}

/** A machine with a new key of the tenant's, its token in hand. */
export async function addMachine(
  house: House,
  tenant: Tenant,
  role: string,
  environment = "production",
): Promise<Machine> {
  const key = await addKey(tenant, role, environment);
  const { status, body } = await exchange(house, key);
  if (status !== 200) throw new Error(`Cannot exchange a key: ${status} ${JSON.stringify(body)}`);
  return { key, token: body.token, api: withToken(house, body.token) };
}
