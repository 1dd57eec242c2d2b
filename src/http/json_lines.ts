import { LIMITS } from "./limits.ts";
import { AppError, invalid } from "../core/errors.ts";
import { withTimeout } from "../core/time.ts";
import { type BodyPieces, byteBuffer, openBody } from "./body_stream.ts";
import { BodyMemory, type Sender } from "./body_memory.ts";
import { EVENTS_JSON, parseJson } from "./json.ts";

/** One line of an NDJSON body. Numbers count from 1. */
export interface JsonLine {
  number: number;
  value: unknown;
  /** How many JSON values it contains. */
  values: number;
  /** Why the line could not be read, if so. */
  problem?: AppError;
}

const EMPTY: Uint8Array = new Uint8Array();
const LINE_FEED = 10;

/**
 * Reads an NDJSON body of any length, block by block, and never ahead of the block that is taken (backpressure).
 * Blank lines are numbered and skipped.
 */
export class JsonLines {
  readonly #body: BodyPieces;
  readonly #memory: BodyMemory;
  readonly #block_lines: number;
  /** The last piece of the body, and how far it was cut into lines. */
  #piece = EMPTY;
  #cut = 0;
  /** The beginning of a line whose end has not arrived. */
  #partial = byteBuffer();
  #partial_bytes = 0;
  #number = 0;
  #first_number = 1;
  #is_over = false;

  constructor(request: Request, sender: Sender, block_lines: number) {
    this.#body = openBody(request);
    this.#memory = new BodyMemory(sender);
    this.#block_lines = block_lines;
  }

  /** The number of the first line of the last block, which may be incomplete. */
  get first_number(): number {
    return this.#first_number;
  }

  /**
   * The next lines, up to `block_lines` or as many bytes or values as a JSON body may have; none at the end. An
   * unreadable line ends its block, and the reading. Errors: timed_out when they take too long, malformed when the
   * body is cut off, unavailable and rate_limited when the memory for bodies is full.
   */
  async nextBlock(): Promise<JsonLine[]> {
    const deadline = performance.now() + LIMITS.line_block_ms;
    const block: JsonLine[] = [];
    let [bytes, values] = [0, 0];
    this.#first_number = this.#number + 1;
    const { body_bytes, usage_values } = LIMITS;
    while (block.length < this.#block_lines && bytes < body_bytes && values < usage_values) {
      const text = this.#cutLine();
      if (text === undefined) {
        if (this.#is_over) break;
        await this.#readOn(deadline, bytes);
        continue;
      }
      this.#number++;
      if (isBlank(text)) continue;
      const line = readLine(text, this.#number);
      bytes += text.byteLength;
      values += line.values;
      block.push(line);
      if (line.problem) break;
    }
    return block;
  }

  /** Stops reading and discards the rest. */
  close(): void {
    this.#memory.release();
    this.#body.cancel();
  }

  /** The bytes of the next line, cut where it gets too long. Undefined when more must be read. */
  #cutLine(): Uint8Array | undefined {
    const start = this.#cut;
    const end = this.#piece.indexOf(LINE_FEED, start);
    const part = this.#piece.subarray(start, end < 0 ? undefined : end);
    this.#cut = start + part.byteLength + 1;
    if (this.#partial_bytes === 0 && end >= 0) return part;
    // Copied, so that the beginning of a line does not keep its whole piece in memory.
    this.#partial.write(part);
    this.#partial_bytes += part.byteLength;
    const is_line = end >= 0 || this.#partial_bytes > LIMITS.line_bytes;
    if (!is_line && !(this.#is_over && this.#partial_bytes > 0)) return undefined;
    const line = this.#partial.end();
    this.#partial = byteBuffer();
    this.#partial_bytes = 0;
    return line;
  }

  /** Reads the next piece of the body. `pending` is the bytes of lines that wait for their block. */
  async #readOn(deadline: number, pending: number): Promise<void> {
    const left_ms = Math.max(0, deadline - performance.now());
    const piece = await withTimeout(this.#body.read(), left_ms);
    if (piece === null) {
      const seconds = LIMITS.line_block_ms / 1_000;
      throw new AppError("timed_out", `The next ${this.#block_lines} lines took over ${seconds} s to arrive`);
    }
    this.#is_over = piece === undefined;
    this.#piece = piece ?? EMPTY;
    this.#cut = 0;
    this.#memory.reserve(pending + this.#partial_bytes + this.#piece.byteLength);
  }
}

function isBlank(text: Uint8Array): boolean {
  // White space of JSON: tab, carriage return, space.
  return text.every((byte) => byte === 9 || byte === 13 || byte === 32);
}

function readLine(text: Uint8Array, number: number): JsonLine {
  if (text.byteLength > LIMITS.line_bytes) {
    const problem = invalid("", `must be at most ${LIMITS.line_bytes} bytes long`);
    return { number, value: undefined, values: 0, problem };
  }
  try {
    return { number, ...parseJson(text, "The line", EVENTS_JSON) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { number, value: undefined, values: 0, problem: error };
  }
}
