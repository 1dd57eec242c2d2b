import { open } from "node:fs/promises";
import { AppError } from "../../core/errors.ts";
import { openBody } from "../../http/body_stream.ts";
import { LIMITS } from "../limits.ts";

// Bodies that go to disk as they arrive: blocks and files.

/** How many bodies arrive at once, by company. */
export class Arrivals {
  readonly #here = new Map<number, number>();
  readonly #most: number;
  readonly #most_company: number;
  readonly #noun: string;

  /** `most`: in all, of which the last half is for companies that have none; `noun`: what arrives, in the plural. */
  constructor(most: number, most_company: number, noun: string) {
    this.#most = most;
    this.#most_company = most_company;
    this.#noun = noun;
  }

  /** Counts one of the company until the function returned is called. Errors: rate_limited, unavailable. */
  enter(company_id: number): () => void {
    const retry = { retry_after_s: 1 };
    const own = this.#here.get(company_id) ?? 0;
    const all = [...this.#here.values()].reduce((sum, count) => sum + count, 0);
    if (own >= this.#most_company || (own > 0 && all >= this.#most / 2))
      throw new AppError(
        "rate_limited",
        `Your company sends too many ${this.#noun} at once: try again`,
        retry,
      );
    if (all >= this.#most)
      throw new AppError("unavailable", `Too many ${this.#noun} at once: try again`, retry);
    this.#here.set(company_id, own + 1);
    return () => {
      const left = (this.#here.get(company_id) ?? 1) - 1;
      if (left === 0) this.#here.delete(company_id);
      else this.#here.set(company_id, left);
    };
  }
}

/** What may arrive, and how slowly. */
export interface ArrivalBounds {
  /** What arrives, for messages. */
  what: string;
  bytes: number;
  /** How long all of it may take. */
  ms: number;
  /** What must come within each `usage_block_pace_ms`. */
  pace_bytes: number;
  /** What to do about one that is too large: `: send …`. */
  advice: string;
}

/** A file on disk, as it was received. */
interface Received {
  /** SHA-256 of its bytes, in hex. */
  digest: string;
  bytes: number;
}

/** Errors: too_large, by what the request says of itself. */
export function assertFits(request: Request, bounds: ArrivalBounds): void {
  if (Number(request.headers.get("content-length") ?? 0) > bounds.bytes) throw tooLarge(bounds);
}

/** Writes a request's body to a new file; `look` sees its pieces. Errors: too_large, timed_out, malformed when it is cut off. */
export async function receiveFile(
  request: Request,
  path: string,
  bounds: ArrivalBounds,
  look: (piece: Uint8Array) => void = () => undefined,
): Promise<Received> {
  const body = openBody(request);
  const hasher = new Bun.CryptoHasher("sha256");
  const deadline = performance.now() + bounds.ms;
  let late: AppError | undefined;
  let [bytes, bytes_before] = [0, 0];
  const timer = setInterval(() => {
    const has_come = bytes - bytes_before >= bounds.pace_bytes;
    bytes_before = bytes;
    if (has_come && performance.now() < deadline) return;
    late = tooSlow(bounds);
    body.cancel();
  }, LIMITS.usage_block_pace_ms);
  const file = await open(path, "wx", 0o600);
  try {
    for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
      bytes += piece.byteLength;
      if (bytes > bounds.bytes) throw tooLarge(bounds);
      hasher.update(piece);
      look(piece);
      await file.write(piece);
    }
    if (late) throw late;
    return { digest: hasher.digest("hex"), bytes };
  } catch (error) {
    body.cancel();
    throw late ?? error;
  } finally {
    clearInterval(timer);
    await file.close();
  }
}

function tooSlow({ what, ms, pace_bytes }: ArrivalBounds): AppError {
  return new AppError(
    "timed_out",
    `The ${what} arrives too slowly: ${pace_bytes} bytes must come in ${LIMITS.usage_block_pace_ms / 1_000} s, and all in ${ms / 1_000} s`,
  );
}

function tooLarge({ what, bytes, advice }: ArrivalBounds): AppError {
  return new AppError("too_large", `The ${what} is over ${bytes} bytes${advice}`);
}
