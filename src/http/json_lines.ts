import { LIMITS } from "./limits.ts";
import { AppError, invalid } from "../core/errors.ts";
import { withTimeout } from "../core/time.ts";
import { type BodyPieces, byteBuffer, openBody } from "./body.ts";
import { BodyMemory, type Sender } from "./body_memory.ts";
import { EVENTS_JSON, parseJson } from "./json.ts";

/** A line of a body of JSON lines. Numbers count from 1. */
export interface JsonLine {
  number: number;
  value: unknown;
  /** How many values it holds in all. */
  values: number;
  /** Why the line has no value, if so. */
  problem?: AppError;
}

const NOTHING: Uint8Array = new Uint8Array();
const LINE_FEED = 10;

/**
 * Reads a body of JSON lines (NDJSON) of any length, block by block, and never further than the block that is
 * asked for: a sender that is faster than its reader has to wait. Blank lines count, and are left out.
 */
export class JsonLines {
  readonly #body: BodyPieces;
  readonly #memory: BodyMemory;
  readonly #block_lines: number;
  /** What came in last, and how much of it was cut into lines. */
  #piece = NOTHING;
  #cut = 0;
  /** The beginning of a line whose end has not come in. */
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

  /** The number of the first line of the last block, which may not have come in whole. */
  get first_number(): number {
    return this.#first_number;
  }

  /**
   * The next lines: a block is full with so many, or with as many bytes or values as a JSON body may have; none at
   * the end. A broken line ends its block, and the reading. Errors: timed_out when they do not come in time,
   * malformed when the body is cut off, unavailable and rate_limited when there is no room for bodies.
   */
  async nextBlock(): Promise<JsonLine[]> {
    const give_up = performance.now() + LIMITS.line_block_ms;
    const block: JsonLine[] = [];
    let [bytes, values] = [0, 0];
    this.#first_number = this.#number + 1;
    const { body_bytes, usage_values } = LIMITS;
    while (block.length < this.#block_lines && bytes < body_bytes && values < usage_values) {
      const text = this.#cutLine();
      if (text === undefined) {
        if (this.#is_over) break;
        await this.#readOn(give_up, bytes);
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

  /** Ends the reading; what still comes in is thrown away. */
  close(): void {
    this.#memory.release();
    this.#body.cancel();
  }

  /** The bytes of the next line, or of as much of it as is too long. Undefined when more must be read. */
  #cutLine(): Uint8Array | undefined {
    const start = this.#cut;
    const end = this.#piece.indexOf(LINE_FEED, start);
    const part = this.#piece.subarray(start, end < 0 ? undefined : end);
    this.#cut = start + part.byteLength + 1;
    if (this.#partial_bytes === 0 && end >= 0) return part;
    // Copied, so that the beginning of a line does not keep all of the piece that it came with.
    this.#partial.write(part);
    this.#partial_bytes += part.byteLength;
    const is_line = end >= 0 || this.#partial_bytes > LIMITS.line_bytes;
    if (!is_line && !(this.#is_over && this.#partial_bytes > 0)) return undefined;
    const line = this.#partial.end();
    this.#partial = byteBuffer();
    this.#partial_bytes = 0;
    return line;
  }

  /** Takes in the next piece of the body. `held` tells the bytes of the lines that wait for their block. */
  async #readOn(give_up: number, held: number): Promise<void> {
    const left_ms = Math.max(0, give_up - performance.now());
    const piece = await withTimeout(this.#body.read(), left_ms);
    if (piece === null) {
      const seconds = LIMITS.line_block_ms / 1_000;
      throw new AppError("timed_out", `The next ${this.#block_lines} lines took over ${seconds} s to arrive`);
    }
    this.#is_over = piece === undefined;
    this.#piece = piece ?? NOTHING;
    this.#cut = 0;
    this.#memory.reserve(held + this.#partial_bytes + this.#piece.byteLength);
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
