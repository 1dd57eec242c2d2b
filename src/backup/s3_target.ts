import { S3Client } from "bun";
import { type Listed, type Pieces, type Target, targetError } from "./target.ts";

/** A part of an upload; so many of them are in memory at once. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_AT_ONCE = 2;
const RETRIES = 5;

/** Backups in a bucket. An upload that was cut off is no object; a rule of the bucket removes its parts. */
export class S3Target implements Target {
  readonly url: string;
  readonly #client: S3Client;
  readonly #prefix: string;

  /** Credentials, endpoint and region are those of the environment, by the names that Bun's client knows. */
  constructor(url: string, bucket: string, prefix: string) {
    this.url = url;
    // Bun's client has read them at the start: what was set since then counts too.
    const {
      S3_ENDPOINT: endpoint,
      S3_REGION: region,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
    } = process.env;
    const given = Object.entries({ endpoint, region, accessKeyId, secretAccessKey }).filter(
      ([, value]) => value,
    );
    this.#client = new S3Client({ bucket, ...Object.fromEntries(given) });
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
  }

  async write(name: string, content: Pieces): Promise<void> {
    const file = this.#client.file(this.#prefix + name);
    try {
      // Bun's client sends no If-None-Match; the lock of backups keeps others from writing in between.
      if (await file.exists()) throw new Error("the name is taken, and no name is written twice");
      const writer = file.writer({ partSize: PART_BYTES, queueSize: PARTS_AT_ONCE, retry: RETRIES });
      let waiting = 0;
      for await (const piece of content) {
        await writer.write(piece);
        waiting += piece.length;
        if (waiting < PART_BYTES) continue;
        waiting = 0;
        await writer.flush();
      }
      await writer.end();
    } catch (error) {
      throw targetError(`write ${name} to`, this.url, error);
    }
  }

  async *read(name: string): Pieces {
    try {
      for await (const piece of this.#client.file(this.#prefix + name).stream()) yield piece;
    } catch (error) {
      throw targetError(`read ${name} from`, this.url, error);
    }
  }

  async list(folder: string): Promise<Listed[]> {
    const found: Listed[] = [];
    try {
      for (let token: string | undefined; ; ) {
        const page = await this.#client.list({
          prefix: this.#prefix + folder,
          ...(token === undefined ? {} : { continuationToken: token }),
        });
        for (const { key, size = 0, lastModified } of page.contents ?? []) {
          // One without a time counts as young: it is not removed.
          const modified_ms =
            lastModified === undefined ? Number.NaN : Temporal.Instant.from(lastModified).epochMilliseconds;
          found.push({ name: key.slice(this.#prefix.length), size, modified_ms });
        }
        token = page.nextContinuationToken;
        if (!page.isTruncated || token === undefined) return found;
      }
    } catch (error) {
      throw targetError("list", this.url, error);
    }
  }

  async remove(name: string): Promise<void> {
    try {
      await this.#client.file(this.#prefix + name).delete();
    } catch (error) {
      throw targetError(`remove ${name} from`, this.url, error);
    }
  }
}
