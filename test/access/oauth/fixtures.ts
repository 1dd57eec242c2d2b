import { type Answer, apiOf, type Service, type Json, PASSWORD } from "../../support/harness.ts";

export const REDIRECT = "http://127.0.0.1:33418/callback";

/** A PKCE pair: what an agent keeps, and what it sends ahead. */
export function pkce(): { verifier: string; challenge: string } {
  const verifier = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return { verifier, challenge: new Bun.CryptoHasher("sha256").update(verifier).digest("base64url") };
}

/** A page as a browser has it: what its form holds, and the cookie that came with it. */
export interface Page {
  status: number;
  html: string;
  headers: Headers;
  cookie: string;
  fields: Record<string, string>;
}

/** Opens an address as a browser does, without following redirects. */
export async function open(url: string, cookie = ""): Promise<Page> {
  const response = await fetch(url, { redirect: "manual", headers: cookie === "" ? {} : { cookie } });
  return readPage(response, cookie);
}

/** Sends a page's form, with what a user typed, from the page's own origin. */
export async function send(
  service: Pick<Service, "url">,
  page: Pick<Page, "cookie" | "fields">,
  typed: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Page> {
  const response = await fetch(`${service.url}/oauth/authorize`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: service.url, ...(page.cookie === "" ? {} : { cookie: page.cookie }), ...headers },
    body: new URLSearchParams({ ...page.fields, ...typed }),
  });
  return readPage(response, page.cookie);
}

async function readPage(response: Response, cookie: string): Promise<Page> {
  const html = await response.text();
  const set = response.headers.getSetCookie().map((line) => line.split(";")[0]);
  const inputs = html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  return {
    status: response.status,
    html,
    headers: response.headers,
    cookie: set[0] ?? cookie,
    fields: Object.fromEntries([...inputs].map(([, name, value]) => [name ?? "", value ?? ""])),
  };
}

/** Where a redirect leads. */
export function destination({ status, headers }: { status: number; headers: Headers }): URL {
  if (status !== 302 && status !== 303) throw new Error(`Not a redirect: ${status}`);
  return new URL(headers.get("location") ?? "");
}

/** An agent that has registered itself. */
export class OAuthClient {
  readonly service: Pick<Service, "url">;
  readonly client_id: string;
  constructor(service: Pick<Service, "url">, client_id: string) {
    this.service = service;
    this.client_id = client_id;
  }

  static async register(service: Pick<Service, "url">, metadata: object = {}): Promise<OAuthClient> {
    const { status, body } = await register(service, {
      client_name: "Test agent",
      redirect_uris: [REDIRECT],
      ...metadata,
    });
    if (status !== 201) throw new Error(`Not registered: ${JSON.stringify(body)}`);
    return new OAuthClient(service, body.client_id);
  }

  /** The address that it sends a browser to. */
  url(challenge: string, change: Record<string, string | undefined> = {}): string {
    const query = {
      response_type: "code",
      client_id: this.client_id,
      redirect_uri: REDIRECT,
      code_challenge: challenge,
      code_challenge_method: "S256",
      state: "the state",
      scope: "mcp:tools",
      resource: `${this.service.url}/api/v1/mcp`,
      ...change,
    };
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    );
    return `${this.service.url}/oauth/authorize?${new URLSearchParams(Object.fromEntries(given)).toString()}`;
  }

  /** Has a user allow it. */
  async code(email: string, password = PASSWORD): Promise<{ code: string; verifier: string }> {
    const { verifier, challenge } = pkce();
    const page = await open(this.url(challenge));
    const back = destination(await send(this.service, page, { email, password, decision: "allow" }));
    return { code: back.searchParams.get("code") ?? "", verifier };
  }

  token(fields: Record<string, string>): Promise<Answer> {
    return post(this.service, "token", { client_id: this.client_id, ...fields });
  }

  exchange(code: string, verifier: string, change: Record<string, string> = {}): Promise<Answer> {
    const fields = {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
    };
    return this.token({ ...fields, ...change });
  }

  refresh(refresh_token: string, change: Record<string, string> = {}): Promise<Answer> {
    return this.token({ grant_type: "refresh_token", refresh_token, ...change });
  }

  revoke(token: string): Promise<Answer> {
    return post(this.service, "revoke", { client_id: this.client_id, token });
  }

  /** The whole way from a user's yes to tokens. */
  async authorize(email: string, password = PASSWORD): Promise<Json> {
    const { code, verifier } = await this.code(email, password);
    const { status, body } = await this.exchange(code, verifier);
    if (status !== 200) throw new Error(`No tokens: ${JSON.stringify(body)}`);
    return body;
  }
}

export function register(service: Pick<Service, "url">, metadata: unknown): Promise<Answer> {
  return apiOf(service.url, {})("POST", "origin:/oauth/register", metadata);
}

/** Sends a form to an endpoint of the authorization server. */
export function post(
  service: Pick<Service, "url">,
  endpoint: string,
  fields: Record<string, string> | string,
): Promise<Answer> {
  const body = new URLSearchParams(fields).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return apiOf(service.url, {})("POST", `origin:/oauth/${endpoint}`, body, headers);
}
