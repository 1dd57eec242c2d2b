import { AppError } from "../../core/errors.ts";
import { sha256, isSameSecret, randomSecret } from "../../core/random_secrets.ts";
import { SCOPES, unknownScopes } from "../authorizations/scopes.ts";
import { type McpAddress, mcpAddressOf, resourceAt, WHOLE_ENDPOINT } from "./mcp_address.ts";
import type { TokenKind } from "./model.ts";

/** Error codes: RFC 6749, 7591, 8707. */
type OAuthCode =
  | "access_denied"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_scope"
  | "invalid_target"
  | "unsupported_grant_type"
  | "unsupported_response_type";

/** An error response to an OAuth client. */
export class OAuthError extends AppError {
  readonly code: OAuthCode;
  constructor(code: OAuthCode, message: string) {
    super(code === "invalid_client" ? "unauthorized" : "malformed", message);
    this.code = code;
  }
}

/** An error response through the browser, redirected to the client's own address. */
export class AuthorizationError extends OAuthError {
  readonly location: string;
  constructor(refusal: OAuthError, origin: string, redirect_uri: string, state: string | null) {
    super(refusal.code, refusal.message);
    this.location = addToQuery(redirect_uri, {
      error: refusal.code,
      error_description: refusal.message,
      state,
      iss: origin,
    });
  }
}

/** Token prefixes, so that a leaked token is recognised. */
const PREFIX: Record<TokenKind, string> = { code: "mhc_", access: "mha_", refresh: "mhr_" };

export function makeToken(kind: TokenKind): string {
  return randomSecret(PREFIX[kind]);
}

/** The sign-in page's CSRF token: derived from the browser's cookie, which no other site can read. */
export function csrfOf(browser: string, transaction: string): string {
  return sha256(`${browser} ${transaction}`);
}

/** Whether a verifier belongs to a challenge (PKCE with S256, RFC 7636). */
export function isVerifierOf(challenge: string, verifier: string): boolean {
  return /^[A-Za-z0-9\-._~]{43,128}$/.test(verifier) && isSameSecret(sha256(verifier), challenge);
}

export function isChallenge(challenge: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(challenge);
}

/** Checks a requested scope; none requested means all. Errors: invalid_scope. */
export function checkScope(scope: string | undefined): void {
  if (unknownScopes(scope).length === 0) return;
  throw new OAuthError("invalid_scope", `The scopes are ${SCOPES.join(", ")}`);
}

/**
 * The address of the MCP endpoint that tokens are requested for; older clients omit it. Errors: invalid_target.
 */
export function addressOf(origin: string, resource: string | undefined): McpAddress {
  if (resource === undefined || resource === "") return WHOLE_ENDPOINT;
  const found = resource.startsWith(origin) ? mcpAddressOf(resource.slice(origin.length)) : undefined;
  if (found === undefined)
    throw new OAuthError("invalid_target", `The only resource is ${resourceAt(origin)}, whole or in part`);
  return found;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
/** Schemes that browsers or systems handle themselves: scripts, files, other protocols, system tools. */
const REFUSED_SCHEMES =
  /^(javascript|livescript|mocha|vbscript|data|file|blob|about|filesystem|view-source|chrome|resource|res|mhtml|jar|feed|ftp|sftp|ssh|telnet|smb|ldaps?|wss?|mailto|tel|sms|sip|facetime|intent|itms-services|shell|search|search-ms|ms-.+|urn|cid|mid):$/;

/**
 * Whether codes may be sent to an address: https anywhere, http on the same machine, or a private-use scheme of an
 * installed program (RFC 8252). It must be absolute, ASCII, its host as parsers read it, without fragment or user.
 */
export function isRedirectUri(text: string): boolean {
  const url = /^[\x21-\x7e]+$/.test(text) && !/[\\#*<>"]/.test(text) ? URL.parse(text) : null;
  if (!url || url.username !== "" || url.password !== "" || REFUSED_SCHEMES.test(url.protocol)) return false;
  // Users are shown the parsed host. Parsers drop an empty user ("https://@host"), so it is caught here.
  const is_plain = text.toLowerCase().startsWith(`${url.protocol}//${url.hostname.toLowerCase()}`);
  if (url.protocol === "https:") return is_plain;
  if (url.protocol === "http:") return is_plain && LOOPBACK.has(url.hostname);
  // A path or a host after the scheme: `cursor://…`, `com.example.app:/…`.
  return (url.hostname === "" || is_plain) && /^[a-z][a-z0-9+.-]*:\/./i.test(text);
}

/**
 * Whether an address is one of those registered: exactly, except for a loopback port, which installed programs
 * learn only when they start (RFC 8252, 7.3).
 */
export function isRegistered(redirect_uris: readonly string[], requested: string): boolean {
  if (redirect_uris.includes(requested)) return true;
  const anyPort = withoutPort(requested);
  return anyPort !== null && redirect_uris.some((registered) => withoutPort(registered) === anyPort);
}

/** A loopback address without its port; null for all others. */
function withoutPort(text: string): string | null {
  if (!isRedirectUri(text)) return null;
  const [, before, after] =
    /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d+)?(\/.*|\?.*|)$/i.exec(text) ?? [];
  return before === undefined || after === undefined ? null : `${before.toLowerCase()}${after}`;
}

/** Appends fields to the query of an address. */
export function addToQuery(uri: string, fields: Record<string, string | null>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== null) added.set(name, value);
  return `${uri}${uri.includes("?") ? "&" : "?"}${added.toString()}`;
}

/** The part of an address that a person should look at: where it leads. */
export function pathIn(uri: string): string {
  const { protocol, host } = new URL(uri);
  return /^https?:$/.test(protocol) ? host : `${protocol}${host === "" ? "" : `//${host}`}`;
}
