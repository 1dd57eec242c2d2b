import { jwtVerify, SignJWT } from "jose";
import { LIMITS } from "../../core/limits.ts";
import { AppError } from "../../core/errors.ts";
import type { Clock } from "../../core/time.ts";

const ISSUER = "meterhouse";
const AUDIENCE = "meterhouse:rest";
const LINK_AUDIENCE = "meterhouse:link";

/** What a REST token says: who, in which version of their password and role, until when. */
export interface Claims {
  user_id: number;
  token_version: number;
  expires_ms: number;
}

/** Signs and checks REST tokens: JWT, HS256 only. */
export interface Tokens {
  sign(user_id: number, token_version: number): Promise<{ token: string; expires_at: Temporal.Instant }>;
  /** Errors: unauthorized for a token that is not ours, not for REST, or expired. */
  verify(token: string): Promise<Claims>;
  /** Signs what a link may ask for in a user's name, for a short time: links end up in histories and logs. */
  signLink(user: LinkUser, query: object): Promise<{ link: string; expires_at: Temporal.Instant }>;
  /** What a link asks for, and in whose name; null for one that is not ours or has expired. */
  verifyLink(link: string): Promise<{ user: LinkUser; query: unknown } | null>;
}

/** In whose name a link asks, with the version of their password and role. */
export type LinkUser = Pick<Claims, "user_id" | "token_version">;

/** Tokens signed by `secret`, read as UTF-8. Verified tokens are remembered until they expire, up to a bound. */
export function openTokens(secret: string, clock: Clock): Tokens {
  const key = new TextEncoder().encode(secret);
  const verified = new Map<string, Claims>();

  async function check(token: string): Promise<Claims> {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ["HS256"],
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ["sub", "exp", "iat", "ver"],
        currentDate: jwtDate(clock.now()),
      });
      const claims = {
        user_id: Number(payload.sub),
        token_version: Number(payload.ver),
        expires_ms: Number(payload.exp) * 1_000,
      };
      if (Number.isSafeInteger(claims.user_id) && claims.user_id > 0) return claims;
    } catch {
      // one answer for every kind of bad token
    }
    throw new AppError("unauthorized", "The token is not valid or has expired: sign in again");
  }

  return {
    async sign(user_id, token_version) {
      const issued_s = Math.floor(clock.now().epochMilliseconds / 1_000);
      const expires_s = issued_s + LIMITS.rest_token_hours * 3_600;
      const token = await new SignJWT({ ver: token_version })
        .setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setSubject(String(user_id))
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setIssuedAt(issued_s)
        .setExpirationTime(expires_s)
        .setJti(crypto.randomUUID())
        .sign(key);
      return { token, expires_at: Temporal.Instant.fromEpochMilliseconds(expires_s * 1_000) };
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
  };
}

/** The part that signs links. */
function openLinks(key: Uint8Array, clock: Clock): Pick<Tokens, "signLink" | "verifyLink"> {
  return {
    async signLink({ user_id, token_version }, query) {
      const expires_s = Math.floor(clock.now().epochMilliseconds / 1_000) + LIMITS.usage_export_link_s;
      const link = await new SignJWT({ ver: token_version, query })
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
        const user = { user_id: Number(payload.sub), token_version: Number(payload.ver) };
        return { user, query: payload.query };
      } catch {
        // one answer for every kind of bad link
        return null;
      }
    },
  };
}

/** The instant as the JWT library takes it. */
function jwtDate(
  now: Temporal.Instant,
): NonNullable<NonNullable<Parameters<typeof jwtVerify>[2]>["currentDate"]> {
  // oxlint-disable-next-line no-restricted-globals -- the library's only way to be told the time
  return new Date(now.epochMilliseconds);
}
