import { S3Client } from "bun";
import { errorCode } from "../core/error_code.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";

/** Where a bucket is, as DOCUMENTS_URL says. */
export interface BucketPlace {
  readonly bucket: string;
  /** "" or with a slash at its end. */
  readonly prefix: string;
  readonly region: string;
  /** An origin, such as that of MinIO. */
  readonly endpoint: string;
}

/** Who may use it: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. */
export interface BucketKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** An object of a listing. */
export interface ListedObject {
  readonly key: string;
  /** NaN where the bucket does not say. */
  readonly modified_ms: number;
}

/** How long a signature is good for. */
const SIGNED_S = 300;
const PAUSE_MS = 200;

/**
 * A bucket of S3's interface. Requests are signed by Bun's client and sent by fetch, which can be given up: each ends
 * within `document_bucket_ms`. Errors of all: unavailable.
 */
export class S3Bucket {
  readonly #client: S3Client;
  readonly #place: BucketPlace;
  readonly #wait_ms: number;

  constructor(place: BucketPlace, keys: BucketKeys, wait_ms: number = LIMITS.document_bucket_ms) {
    const { bucket, region, endpoint } = place;
    this.#place = place;
    this.#wait_ms = wait_ms;
    this.#client = new S3Client({ bucket, region, endpoint, ...keys });
  }

  /** Where it is, for messages. */
  get url(): string {
    const { endpoint, bucket, prefix } = this.#place;
    return `${endpoint}/${bucket}/${prefix}`;
  }

  /** Writes an object, such as a file: it is there whole, and durable, or not at all. */
  async put(key: string, content: Blob): Promise<void> {
    await drained(await this.#send("PUT", key, content));
  }

  /** The content, piece by piece; null where it is not there. */
  async get(key: string): Promise<AsyncIterable<Uint8Array> | null> {
    const response = await this.#send("GET", key);
    if (response.status !== 404) return this.#piecesOf(response, key);
    await this.#confirmMissing("GET", key, response);
    return null;
  }

  /** Errors: a bucket that is not there says nothing about its objects. */
  async #confirmMissing(method: string, key: string, response: Response): Promise<void> {
    const said = (await response.text()).slice(0, 500);
    if (said.includes("<Code>NoSuchBucket</Code>")) throw this.#failed(method, key, new Error(`404 ${said}`));
  }

  async *#piecesOf({ body }: Response, key: string): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of body ?? []) yield piece;
    } catch (error) {
      throw this.#failed("GET", key, error);
    }
  }

  /** The bytes of an object; null where it is not there. */
  async sizeOf(key: string): Promise<number | null> {
    const { status, headers } = await drained(await this.#send("HEAD", key));
    if (status !== 404) return Number(headers.get("content-length"));
    // The answer to a HEAD has no body that could say what is not there, the object or the bucket.
    const pieces = await this.get(key);
    if (pieces === null) return null;
    let size = 0;
    for await (const piece of pieces) size += piece.length;
    return size;
  }

  /** Removes an object; one that is not there is removed. */
  async remove(key: string): Promise<void> {
    const response = await this.#send("DELETE", key);
    if (response.status === 404) await this.#confirmMissing("DELETE", key, response);
    else await drained(response);
  }

  /** The objects below a folder, a page of them at a time. */
  async *list(folder: string): AsyncGenerator<ListedObject[]> {
    const { prefix } = this.#place;
    for (let token: string | undefined; ; ) {
      const asked = { prefix: prefix + folder, ...(token === undefined ? {} : { continuationToken: token }) };
      const page = await this.#inTime(this.#client.list(asked), "list", folder);
      yield (page.contents ?? []).map(({ key, lastModified }) => ({
        key: key.slice(prefix.length),
        modified_ms:
          lastModified === undefined ? Number.NaN : Temporal.Instant.from(lastModified).epochMilliseconds,
      }));
      token = page.nextContinuationToken;
      if (!page.isTruncated || token === undefined) return;
    }
  }

  /** An answer of 2xx or 404; what fails on the way, or with 5xx, is tried again while there is time. */
  async #send(method: "PUT" | "GET" | "HEAD" | "DELETE", key: string, content?: Blob): Promise<Response> {
    const signal = AbortSignal.timeout(this.#wait_ms);
    const url = this.#client.presign(this.#place.prefix + key, { method, expiresIn: SIGNED_S });
    for (let attempt = 1; ; attempt++) {
      const is_last = attempt === LIMITS.document_bucket_attempts;
      try {
        const body = content === undefined ? {} : { body: content };
        const response = await fetch(url, { method, ...body, signal, redirect: "error", decompress: false });
        if (response.ok || (response.status === 404 && method !== "PUT")) return response;
        // What it says may be long, and is for the operator.
        const said = (await response.text()).slice(0, 500);
        if (response.status < 500 || is_last)
          throw this.#failed(method, key, new Error(`${response.status} ${said}`));
      } catch (error) {
        if (error instanceof AppError) throw error;
        if (is_last || signal.aborted) throw this.#failed(method, key, error);
      }
      await Bun.sleep(PAUSE_MS * attempt);
    }
  }

  /** Bun's client can't be told to give a listing up: it is left to itself. */
  async #inTime<T>(work: Promise<T>, action: string, key: string): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error("it took too long")), this.#wait_ms);
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      throw this.#failed(action, key, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The message is for callers, the cause for the log: it names the bucket, and no key of ours. */
  #failed(action: string, key: string, cause: unknown): AppError {
    const message = cause instanceof Error ? cause.message : String(cause);
    const code = errorCode(cause);
    // Fetch says the code in its message, Bun's client does not.
    const reason = code === undefined || message.includes(code) ? message : `${message} (${code})`;
    return new AppError("unavailable", "The place where documents are stored fails: try again later", {
      retry_after_s: 10,
      cause: new Error(`Cannot ${action} ${key} at ${this.url}: ${reason}`, { cause }),
    });
  }
}

/** A response whose body nobody reads, so that its connection is free again. */
async function drained(response: Response): Promise<Response> {
  await response.body?.cancel();
  return response;
}
