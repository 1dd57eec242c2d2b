import { AppError } from "./errors.ts";

/** A file that is made while it is sent. */
export interface Download {
  media_type: string;
  filename: string;
  body: ReadableStream<Uint8Array>;
}

/** Sends bytes on; answers when there is room for more. Errors: throws when nobody takes them any more. */
export type Write = (bytes: Uint8Array) => Promise<void>;

/** Makes a file's content and writes it. It should end soon after `gone` is aborted, with whatever error. */
export type Produce = (write: Write, gone: AbortSignal) => Promise<void>;

/** How what is written is sent. */
export interface SendOptions {
  /** How long the receiver may take nothing before it counts as gone. */
  idle_ms: number;
  /** How much it must take on average, while it is waited for, so as not to hold for hours what a file takes. */
  bytes_s: number;
  /** Told when the content broke off after its beginning: it then never looks whole to the receiver. */
  onBreak: (error: unknown) => void;
}

/**
 * The content as a stream, never further made than it is taken. Answers when the first bytes are there, or
 * there are none. Errors: until then whatever `produce` throws.
 */
export async function streamOf(
  produce: Produce,
  { idle_ms, bytes_s, onBreak }: SendOptions,
): Promise<ReadableStream<Uint8Array>> {
  const gone = new AbortController();
  const begun = Promise.withResolvers<void>();
  let has_begun = false;
  let room: PromiseWithResolvers<void> = Promise.withResolvers();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (opened) => void (controller = opened),
      pull: () => room.resolve(),
      cancel: () => gone.abort(new AppError("timed_out", "The receiver of the file went away")),
    },
    { highWaterMark: 0 },
  );
  gone.signal.addEventListener("abort", () => room.resolve());

  // How long the receiver may be waited for, with what it has taken so far: what it is slower than its pace adds up.
  let patience_ms = idle_ms;
  const write: Write = async (bytes) => {
    has_begun = true;
    begun.resolve();
    const asked_ms = performance.now();
    const idle = setTimeout(() => gone.abort(slowError(idle_ms, bytes_s)), Math.min(idle_ms, patience_ms));
    await room.promise;
    clearTimeout(idle);
    gone.signal.throwIfAborted();
    patience_ms -= performance.now() - asked_ms;
    patience_ms = Math.min(idle_ms, patience_ms + (bytes.byteLength / bytes_s) * 1_000);
    // Before the bytes are handed over: that may ask for the next at once.
    room = Promise.withResolvers();
    controller?.enqueue(bytes);
  };

  const run = async (): Promise<void> => {
    try {
      await produce(write, gone.signal);
      if (!gone.signal.aborted) controller?.close();
      begun.resolve();
    } catch (error) {
      begun.reject(error);
      if (has_begun) onBreak(error);
      // Breaks the connection off. Without an error, which the server would print.
      controller?.error();
    }
  };
  void run();
  await begun.promise;
  return stream;
}

function slowError(idle_ms: number, bytes_s: number): AppError {
  const message = `The receiver of the file took nothing for ${idle_ms} ms, or under ${bytes_s} bytes a second`;
  return new AppError("timed_out", message);
}
