import { hkdfSync, timingSafeEqual } from "node:crypto";
import { AppError } from "../../core/errors.ts";
import type { Clock } from "../../core/time.ts";

/** How far a signature's time may be from the receiver's: an instance with a clock that is further off is not ready. */
const FRESH_MS = 30_000;

/** Signatures that are remembered, so that each is taken once. */
const REMEMBERED = 200_000;

/** What a signature covers beside the body. */
export interface SignedCall {
  path: string;
  /** The id of the instance that it is for. */
  to: string;
}

const SIGNATURE =
  /^Meterhouse t=(?<time>\d{1,15}), n=(?<nonce>[\w-]{22}), b=(?<body>[\w-]{43}), s=(?<mac>[\w-]{43})$/;

/**
 * Signs what instances ask of one another, and verifies it: HMAC-SHA256 over path, receiver, time, nonce and the body's
 * SHA-256, by a key that HKDF (RFC 5869) derives from JWT_SECRET. A signature is taken once, within 30 s. Decision 0374.
 */
export class InternalSignatures {
  readonly #key: Uint8Array;
  readonly #clock: Clock;
  /** When signatures were made that were taken, by their nonce: in the order in which they came. */
  readonly #taken = new Map<string, number>();

  constructor(jwt_secret: string, clock: Clock) {
    this.#key = new Uint8Array(hkdfSync("sha256", jwt_secret, "", "meterhouse internal calls", 32));
    this.#clock = clock;
  }

  /** The value of the header Authorization. */
  sign(call: SignedCall, body: Uint8Array): string {
    const time = String(this.#clock.now().epochMilliseconds);
    const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url");
    const hash = hashOf(body);
    return `Meterhouse t=${time}, n=${nonce}, b=${hash}, s=${this.#mac(call, time, nonce, hash)}`;
  }

  /**
   * Takes a signature, before its body is read; returns what checks the body. Errors: unauthorized where it is none of ours,
   * is for another instance, old, or was taken before; so does what is returned, for another body.
   */
  take(call: SignedCall, header: string | null): (body: Uint8Array) => void {
    const { time, nonce, body: hash, mac } = SIGNATURE.exec(header ?? "")?.groups ?? {};
    if (time === undefined || nonce === undefined || hash === undefined || mac === undefined) throw refusal();
    const is_ours = timingSafeEqual(Buffer.from(mac), Buffer.from(this.#mac(call, time, nonce, hash)));
    const now_ms = this.#clock.now().epochMilliseconds;
    if (!is_ours || Math.abs(now_ms - Number(time)) > FRESH_MS || this.#taken.has(nonce)) throw refusal();
    this.#remember(nonce, Number(time), now_ms);
    return (body) => {
      if (!timingSafeEqual(Buffer.from(hash), Buffer.from(hashOf(body)))) throw refusal();
    };
  }

  #remember(nonce: string, time_ms: number, now_ms: number): void {
    for (const [known, known_ms] of this.#taken) {
      if (known_ms >= now_ms - FRESH_MS) break;
      this.#taken.delete(known);
    }
    // Forgetting one that is still fresh would let it in again.
    if (this.#taken.size >= REMEMBERED)
      throw new AppError("unavailable", "Too many calls of other instances at once", { retry_after_s: 1 });
    this.#taken.set(nonce, time_ms);
  }

  #mac({ path, to }: SignedCall, time: string, nonce: string, hash: string): string {
    const text = ["POST", path, to, time, nonce, hash].join("\n");
    return new Bun.CryptoHasher("sha256", this.#key).update(text).digest("base64url");
  }
}

const hashOf = (body: Uint8Array): string => new Bun.CryptoHasher("sha256").update(body).digest("base64url");

function refusal(): AppError {
  return new AppError("unauthorized", "This path is for other instances alone");
}
