import type { Config } from "../core/config.ts";
import { AppError } from "../core/errors.ts";
import { publicOrigin } from "./origin.ts";

// A browser's session: an opaque token in a cookie that no script can read. Decision 0290.

/** The cookie that gives a browser its session. */
export function sessionCookie(config: Config, token: string, max_age_s: number): string {
  const { name, is_secure } = cookieAt(config);
  const secure = is_secure ? "; Secure" : "";
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${max_age_s}${secure}`;
}

/** The cookie that takes it away again. */
export const endedCookie = (config: Config) => sessionCookie(config, "", 0);

/** The token of the browser's session; undefined for a request that brings none. */
export function sessionTokenOf(config: Config, request: Request): string | undefined {
  const cookies = request.headers.get("cookie");
  if (cookies === null) return undefined;
  const value = new Bun.CookieMap(cookies).get(cookieAt(config).name) ?? "";
  return /^[\w-]{43}$/.test(value) ? value : undefined;
}

/**
 * Over https no other host, not even a sibling domain, can set a cookie with the prefix. Cookies do not know ports:
 * without https the name does, so that two services of one machine do not sign each other's users out.
 */
function cookieAt(config: Config): { name: string; is_secure: boolean } {
  const { protocol, port } = new URL(publicOrigin(config, null));
  if (protocol === "https:") return { name: "__Host-meterhouse_session", is_secure: true };
  return { name: `meterhouse_session${port === "" ? "" : `_${port}`}`, is_secure: false };
}

/**
 * Refuses what another site's page sends with the session's cookie, or might: a change, since reading tells that page
 * nothing. Browsers say where a request comes from; over plain http by its Origin only. Errors: forbidden.
 */
export function requireSameOrigin(config: Config, { method, headers }: Request): void {
  if (method === "GET" || method === "HEAD") return;
  const site = headers.get("sec-fetch-site");
  if (site === null ? isOwn(config, headers) : site === "same-origin") return;
  throw new AppError("forbidden", "A browser's session is for this service's own pages: send a bearer token");
}

function isOwn({ public_url }: Config, headers: Headers): boolean {
  const origin = URL.parse(headers.get("origin") ?? "");
  if (origin === null) return false;
  return origin.host === headers.get("host") || origin.origin === public_url;
}
