import { SCOPE, type TokenKind } from "./model.ts";

/** What each kind of token begins with, so that a lost one is recognised. */
const PREFIX: Record<TokenKind, string> = { code: "mhc_", access: "mha_", refresh: "mhr_" };

/** A new secret of 256 bits. */
export function makeSecret(prefix = ""): string {
  return prefix + Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
}

export function makeToken(kind: TokenKind): string {
  return makeSecret(PREFIX[kind]);
}

/** What is kept of a secret. It has 256 random bits, so that one round of SHA-256 is enough. */
export function digestOf(secret: string): string {
  return new Bun.CryptoHasher("sha256").update(secret).digest("base64url");
}

/** The one resource that tokens are for: RFC 8707. */
export function resourceAt(origin: string): string {
  return `${origin}/api/v1/mcp`;
}

/** Where an agent learns who issues tokens for the resource: RFC 9728, the resource's path after the well-known one. */
export function resourceMetadataAt(origin: string): string {
  return `${origin}/.well-known/oauth-protected-resource/api/v1/mcp`;
}

/**
 * The WWW-Authenticate of the resource's 401: where to get a token, and that the one sent was refused. Without
 * a token nothing was refused, and nothing is said of an error (RFC 6750).
 */
export function challengeAt(origin: string, was_token_sent: boolean): string {
  const error = was_token_sent ? ', error="invalid_token"' : "";
  return `Bearer resource_metadata="${resourceMetadataAt(origin)}", scope="${SCOPE}"${error}`;
}
