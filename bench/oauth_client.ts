import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { buildRequest } from "./connection.ts";

const PATH = "/api/v1/mcp";
const REVISION = "2026-07-28";
/** Nothing listens there: only the address of the redirect is read. */
const REDIRECT = "http://127.0.0.1:33418/callback";

const Registered = Type.Object({ client_id: Type.String() });
const Issued = Type.Object({ access_token: Type.String() });

interface User {
  email: string;
  password: string;
}

/** Registers an OAuth client and returns its client_id. */
export async function register(origin: string, redirect: string): Promise<string> {
  const registration = { client_name: "Benchmark", redirect_uris: [redirect] };
  const registered = await send(`${origin}/oauth/register`, JSON.stringify(registration));
  return Value.Parse(Registered, await registered.json()).client_id;
}

/** Submits the user's consent on the authorization page, as a browser would. Returns the redirect's URL. */
export async function allow(url: string, { email, password }: User): Promise<URL> {
  const { origin } = new URL(url);
  const page = await fetch(url);
  const cookie = page.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const hidden = (await page.text()).matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  const fields = Object.fromEntries([...hidden].map(([, name, value]) => [name ?? "", value ?? ""]));
  const typed = new URLSearchParams({ ...fields, email, password, decision: "allow" });
  const allowed = await send(`${origin}/oauth/authorize`, typed, { cookie, origin });
  return new URL(allowed.headers.get("location") ?? "");
}

/** Lets a user authorize a new OAuth client. Returns the access token. */
export async function authorize(origin: string, user: User): Promise<string> {
  const client_id = await register(origin, REDIRECT);
  const code_verifier = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  const code_challenge = new Bun.CryptoHasher("sha256").update(code_verifier).digest("base64url");
  const common = { client_id, redirect_uri: REDIRECT };
  const request = { ...common, response_type: "code", code_challenge, code_challenge_method: "S256" };
  const back = await allow(`${origin}/oauth/authorize?${new URLSearchParams(request).toString()}`, user);
  const code = back.searchParams.get("code") ?? "";
  const grant = new URLSearchParams({ ...common, grant_type: "authorization_code", code, code_verifier });
  const issued = await send(`${origin}/oauth/token`, grant);
  return Value.Parse(Issued, await issued.json()).access_token;
}

function send(url: string, body: string | URLSearchParams, headers: Record<string, string> = {}) {
  const type: Record<string, string> = typeof body === "string" ? { "content-type": "application/json" } : {};
  return fetch(url, { method: "POST", body, redirect: "manual", headers: { ...type, ...headers } });
}

/** The bytes of a tool's call, as the current revision of the protocol has it. */
export function toolRequest(token: string, name: string, args: object): Uint8Array {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": { name: "benchmark", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name, arguments: args, _meta: meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const headers = {
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": REVISION,
    "mcp-method": "tools/call",
    "mcp-name": name,
  };
  return buildRequest("POST", PATH, { token, body, headers });
}
