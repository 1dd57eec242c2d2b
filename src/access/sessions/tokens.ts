import type { JWTPayload } from "jose";
import { SignJWT } from "jose/jwt/sign";
import { jwtVerify } from "jose/jwt/verify";
import type { SignedToken, Tokens } from "../../app/credentials.ts";
import { KEY_ROLES, type KeyRole } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import { AppError } from "../../core/errors.ts";
import type { Clock } from "../../core/time.ts";

const ISSUER = "meterhouse";
const AUDIENCE = "meterhouse:rest";
const LINK_AUDIENCE = "meterhouse:link";

/** Audiences of key tokens. User tokens have none of them. */
const KEY_AUDIENCES: Record<KeyRole, string> = {
  lender: "loan",
  agent: "loan",
  ingest: "ingest",
  gateway: "gateway",
};

/** The claims of a user's REST token. */
export interface UserClaims {
  kind: "user";
  user_id: number;
  /** The version of the user's password and role. */
  token_version: number;
  /** `jti`, by which the token can be revoked. */
  token_id: string;
  expires_ms: number;
}

/** The claims of an API key's token. */
export interface KeyClaims {
  kind: "key";
  clientId: string;
  role: KeyRole;
  /** Which of the key's secrets it was exchanged for. */
  secret_version: number;
  expires_ms: number;
}
type Claims = UserClaims | KeyClaims;

/** Verifies REST tokens. */
export interface TokenVerifier {
  /** Errors: unauthorized for a token that is expired, or not ours. */
  verify(token: string): Promise<Claims>;
}

/** Signs and verifies JWTs, HS256 only, with `secret` as UTF-8. Verified tokens are cached until they expire. */
export function openTokens(secret: string, clock: Clock): Tokens & TokenVerifier {
  const key = new TextEncoder().encode(secret);
  const verified = new Map<string, Claims>();

  async function check(token: string): Promise<Claims> {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ["HS256"],
        issuer: ISSUER,
        audience: [AUDIENCE, ...Object.values(KEY_AUDIENCES)],
        requiredClaims: ["sub", "exp", "iat", "ver", "jti"],
        currentDate: jwtDate(clock.now()),
      });
      const claims = payload.aud === AUDIENCE ? userClaims(payload) : keyClaims(payload);
      if (claims) return claims;
    } catch {
      // One message for every kind of bad token.
    }
    throw new AppError("unauthorized", "The token is not valid or has expired: sign in again");
  }

  async function issue(
    { sub, aud, ...payload }: { sub: string; aud: string; ver: number } & Record<string, unknown>,
    until: Temporal.Instant,
  ): Promise<SignedToken> {
    const issued_s = Math.floor(clock.now().epochMilliseconds / 1_000);
    const expires_s = Math.floor(until.epochMilliseconds / 1_000);
    const token = await new SignJWT(payload)
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setSubject(sub)
      .setIssuer(ISSUER)
      .setAudience(aud)
      .setIssuedAt(issued_s)
      .setExpirationTime(expires_s)
      .setJti(crypto.randomUUID())
      .sign(key);
    return { token, expires_at: Temporal.Instant.fromEpochMilliseconds(expires_s * 1_000) };
  }

  return {
    sign: (user_id, token_version) =>
      issue(
        { sub: String(user_id), aud: AUDIENCE, ver: token_version },
        clock.now().add({ hours: LIMITS.rest_token_hours }),
      ),
    signKey({ clientId, role, company_id, environment, secret_version }, until) {
      const payload = { role, company_id, environment, ver: secret_version };
      return issue({ sub: clientId, aud: KEY_AUDIENCES[role], ...payload }, until);
    },
    async verify(token) {
      const known = verified.get(token);
      if (known && known.expires_ms > clock.now().epochMilliseconds) return known;
      verified.delete(token);
      const claims = await check(token);
      verified.set(token, claims);
      const oldest = verified.keys().next().value;
      if (verified.size > LIMITS.token_cache && oldest !== undefined) verified.delete(oldest);
      return claims;
    },
    ...openLinks(key, clock),
    // No JWT begins with a purpose and a zero: its signature can't be had this way.
    mac: (purpose, text) =>
      new Bun.CryptoHasher("sha256", key).update(`${purpose}\0${text}`).digest("base64url"),
  };
}

function userClaims({ sub, ver, exp, jti = "" }: JWTPayload): UserClaims | null {
  const user_id = Number(sub);
  if (!Number.isSafeInteger(user_id) || user_id <= 0) return null;
  return {
    kind: "user",
    user_id,
    token_version: Number(ver),
    token_id: jti,
    expires_ms: Number(exp) * 1_000,
  };
}

function keyClaims({ sub, aud, role, ver, exp }: JWTPayload): KeyClaims | null {
  const known = KEY_ROLES.find((name) => name === role && KEY_AUDIENCES[name] === aud);
  if (sub === undefined || known === undefined) return null;
  return {
    kind: "key",
    clientId: sub,
    role: known,
    secret_version: Number(ver),
    expires_ms: Number(exp) * 1_000,
  };
}

/** Signs and verifies links. */
function openLinks(key: Uint8Array, clock: Clock): Pick<Tokens, "signLink" | "verifyLink"> {
  return {
    async signLink({ user_id, token_version, token_id, session_id, authorization_id }, query) {
      const expires_s = Math.floor(clock.now().epochMilliseconds / 1_000) + LIMITS.usage_export_link_s;
      const link = await new SignJWT({
        ver: token_version,
        sid: token_id,
        browser: session_id,
        grant: authorization_id,
        query,
      })
        .setProtectedHeader({ alg: "HS256" })
        .setSubject(String(user_id))
        .setIssuer(ISSUER)
        .setAudience(LINK_AUDIENCE)
        .setExpirationTime(expires_s)
        .sign(key);
      return { link, expires_at: Temporal.Instant.fromEpochMilliseconds(expires_s * 1_000) };
    },
    async verifyLink(link) {
      try {
        const { payload } = await jwtVerify(link, key, {
          algorithms: ["HS256"],
          issuer: ISSUER,
          audience: LINK_AUDIENCE,
          requiredClaims: ["sub", "exp", "ver", "query"],
          currentDate: jwtDate(clock.now()),
        });
        const { sub, ver, sid, browser, grant, query } = payload;
        const by = {
          user_id: Number(sub),
          token_version: Number(ver),
          ...(typeof sid === "string" ? { token_id: sid } : {}),
          ...(typeof browser === "number" ? { session_id: browser } : {}),
          ...(typeof grant === "number" ? { authorization_id: grant } : {}),
        };
        return { by, query };
      } catch {
        // One result for every kind of bad link.
        return null;
      }
    },
  };
}

/** An instant as the JWT library takes it. */
function jwtDate(
  now: Temporal.Instant,
): NonNullable<NonNullable<Parameters<typeof jwtVerify>[2]>["currentDate"]> {
  // oxlint-disable-next-line no-restricted-globals -- the only type that the library takes
  return new Date(now.epochMilliseconds);
}
