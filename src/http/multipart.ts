import Busboy, { type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { AppError, invalid, pointerPart } from "../core/errors.ts";
import { withTimeout } from "../core/time.ts";
import { mediaTypeOf } from "./body.ts";
import { type BodyPieces, openBody } from "./body_stream.ts";

/** Limits of a form with a file. */
export interface MultipartLimits {
  /** The name of the one part that is a file. */
  file: string;
  file_bytes: number;
  /** Everything except the file's bytes, and one field's value. */
  envelope_bytes: number;
  field_bytes: number;
  /** How long the body may take to arrive. */
  time_ms: number;
}

/** The file of a form while it arrives. Read `bytes` to the end, or throw. */
export interface IncomingFile {
  name: string;
  bytes: AsyncIterable<Uint8Array>;
}

/** The fields of a form, and what `take` made of its file. */
export interface ReadMultipart<T> {
  fields: Record<string, string>;
  file: T;
}

const PARTS = 20;

/**
 * Reads a multipart/form-data body with one file, which is streamed to `take` with backpressure and never in memory
 * as a whole. Errors: unsupported_media_type, too_large and timed_out as early as possible, malformed (no boundary, or
 * cut off), invalid for parts that are missing or too many, and those of `take`.
 */
export async function readMultipart<T>(
  request: Request,
  limits: MultipartLimits,
  take: (file: IncomingFile) => Promise<T>,
): Promise<ReadMultipart<T>> {
  mediaTypeOf(request, ["multipart/form-data"]);
  const most_bytes = limits.file_bytes + limits.envelope_bytes;
  if (Number(request.headers.get("content-length") ?? 0) > most_bytes) throw tooLarge("body", most_bytes);
  const parser = openParser(request, limits);
  const body = openBody(request);
  const parts = new Parts(parser, limits, take);
  try {
    await feed(body, parser, parts, limits);
    return await parts.end();
  } finally {
    body.cancel();
    parser.destroy();
    await parts.close();
  }
}

/** Feeds the body to the parser piece by piece, until it ends or a problem is found. */
async function feed<T>(
  body: BodyPieces,
  parser: BusboyInstance,
  parts: Parts<T>,
  limits: MultipartLimits,
): Promise<void> {
  const deadline = performance.now() + limits.time_ms;
  let remaining = limits.file_bytes + limits.envelope_bytes;
  for (;;) {
    const next = withTimeout(body.read(), Math.max(0, deadline - performance.now()));
    const piece = await parts.unlessFailed(next);
    if (piece === null) {
      throw new AppError("timed_out", `The body took over ${limits.time_ms / 1_000} s to arrive`);
    }
    if (piece === undefined) break;
    remaining -= piece.byteLength;
    if (remaining < 0) throw tooLarge("body", limits.file_bytes + limits.envelope_bytes);
    // Resolves when the file's reader has room again.
    const taken = new Promise<void>((resolve) => parser.write(piece, () => resolve()));
    await parts.unlessFailed(taken);
  }
  parser.end();
}

/** Collects the parser's fields and file, and the first problem with them. */
class Parts<T> {
  readonly #limits: MultipartLimits;
  readonly #take: (file: IncomingFile) => Promise<T>;
  readonly #fields = new Map<string, string>();
  readonly #parsed = Promise.withResolvers<void>();
  /** The first problem, and who waits while one may still come up. */
  #problem: unknown;
  #refuse: ((problem: unknown) => void) | undefined;
  #file: Promise<T> | undefined;
  #stream: BusboyFileStream | undefined;

  constructor(parser: BusboyInstance, limits: MultipartLimits, take: (file: IncomingFile) => Promise<T>) {
    this.#limits = limits;
    this.#take = take;
    parser.on("field", (name, value, _, is_cut) => this.#addField(name, value, is_cut));
    parser.on("file", (name, stream, filename) => this.#addFile(name, stream, filename));
    parser.on("partsLimit", () => this.#fail(invalid("", `must have at most ${PARTS} parts`)));
    parser.on("error", () => this.#fail(new AppError("malformed", "The body was cut off")));
    parser.on("finish", () => this.#parsed.resolve());
  }

  /**
   * The result of `work`, unless a problem came up before or comes up meanwhile. (Promise.race with a long-lived
   * promise would keep every piece of the body in memory.)
   */
  unlessFailed<W>(work: Promise<W>): Promise<W> {
    const { promise, resolve, reject } = Promise.withResolvers<W>();
    this.#refuse = reject;
    if (this.#problem !== undefined) reject(this.#problem);
    work.then(resolve, reject);
    return promise;
  }

  /** The whole form, once the body has ended. */
  async end(): Promise<ReadMultipart<T>> {
    await this.unlessFailed(this.#parsed.promise);
    if (this.#file === undefined) throw invalid(`/${this.#limits.file}`, "is required: a file with a name");
    const file = await this.unlessFailed(this.#file);
    return { fields: Object.fromEntries(this.#fields), file };
  }

  /** Ends the file's stream, and waits until `take` has finished. */
  async close(): Promise<void> {
    this.#stream?.destroy(new AppError("malformed", "The body was cut off"));
    await this.#file?.catch(() => undefined);
  }

  #fail(problem: unknown): void {
    this.#problem ??= problem;
    this.#refuse?.(problem);
  }

  #addField(name: string | undefined, value: string, is_cut: boolean): void {
    const path = `/${pointerPart(name ?? "")}`;
    if (name === this.#limits.file) {
      this.#fail(invalid(path, "must be a file with a name"));
    } else if (name === undefined) {
      this.#fail(invalid("", "must have parts with names only"));
    } else if (this.#fields.has(name)) {
      this.#fail(invalid(path, "must be given once"));
    } else if (is_cut) {
      this.#fail(invalid(path, `must be at most ${this.#limits.field_bytes} bytes long`));
    } else {
      this.#fields.set(name, value);
    }
  }

  #addFile(name: string | undefined, stream: BusboyFileStream, filename: string | undefined): void {
    const path = `/${pointerPart(name ?? "")}`;
    stream.on("error", () => undefined);
    if (name !== this.#limits.file) this.#fail(invalid(path, "must not be a file"));
    else if (this.#file !== undefined) this.#fail(invalid(path, "must be given once"));
    else if (!filename) this.#fail(invalid(path, "must be a file with a name"));
    else {
      this.#stream = stream;
      stream.on("limit", () => this.#fail(tooLarge(name, this.#limits.file_bytes)));
      this.#file = this.#take({ name: filename, bytes: stream });
      this.#file.catch((error: unknown) => this.#fail(error));
      return;
    }
    // A stream that nobody reads would block the rest.
    stream.resume();
  }
}

function openParser(request: Request, limits: MultipartLimits): BusboyInstance {
  const { file_bytes, field_bytes } = limits;
  try {
    return Busboy({
      headers: { "content-type": request.headers.get("content-type") ?? "" },
      limits: { fileSize: file_bytes, fieldSize: field_bytes, parts: PARTS, headerSize: 8_192 },
    });
  } catch (error) {
    throw new AppError("malformed", "The body can't be read: its type must name a boundary", {
      cause: error,
    });
  }
}

function tooLarge(noun: string, most_bytes: number): AppError {
  return new AppError("too_large", `The ${noun} is over ${most_bytes} bytes`);
}
