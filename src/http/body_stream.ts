import { AppError } from "../core/errors.ts";

/** A request body as a stream of pieces. */
export interface BodyPieces {
  /** The next piece, undefined at the end. Errors: malformed when the body is cut off. */
  read(): Promise<Uint8Array | undefined>;
  /** Stops reading and discards the rest. */
  cancel(): void;
}

export function openBody(request: Request): BodyPieces {
  const reader = request.body?.getReader();
  return {
    read: async () => (await reader?.read().catch(throwCutOff))?.value,
    cancel: () => void reader?.cancel().catch(() => undefined),
  };
}

/** A failed read: most often the caller has disconnected. */
function throwCutOff(cause: unknown): never {
  throw new AppError("malformed", "The body was cut off", { cause });
}

/** A growable byte buffer; `end()` returns its content as one array. */
export function byteBuffer(): { write(piece: Uint8Array): unknown; end(): Uint8Array } {
  const sink = new Bun.ArrayBufferSink();
  return { write: (piece) => sink.write(piece), end: () => new Uint8Array(sink.end()) };
}
