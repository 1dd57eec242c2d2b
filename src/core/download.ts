import { AppError } from "./errors.ts";

/** A streamed download: its content is produced on demand. */
export interface Download {
  media_type: string;
  filename: string;
  body: ReadableStream<Uint8Array>;
}

/** Sends bytes on; answers when there is room for more. Errors: throws when nobody takes them any more. */
export type Write = (bytes: Uint8Array) => Promise<void>;

/** Makes a file's content and writes it. It should end soon after `signal` is aborted, with whatever error. */
export type WriteContent = (write: Write, signal: AbortSignal) => Promise<void>;

/** How what is written is sent. */
export interface SendOptions {
  /** How long the receiver may take nothing before it counts as gone. */
  idle_ms: number;
  /** How much it must take on average, while it is waited for, so as not to hold for hours what a file takes. */
  bytes_s: number;
  /** Called when the content broke off after its beginning: it then never looks whole to the receiver. */
  onError: (error: unknown) => void;
}

/**
 * Returns the content as a pull-based stream. Resolves with the first bytes, or when there are none, so that earlier
 * errors can still become a status code. Errors: until then whatever `write_content` throws.
 */
export async function createDownloadStream(
  write_content: WriteContent,
  { idle_ms, bytes_s, onError }: SendOptions,
): Promise<ReadableStream<Uint8Array>> {
  const cancellation = new AbortController();
  const begun = Promise.withResolvers<void>();
  let has_begun = false;
  let room: PromiseWithResolvers<void> = Promise.withResolvers();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (opened) => void (controller = opened),
      pull: () => room.resolve(),
      cancel: () => cancellation.abort(new AppError("timed_out", "The receiver of the file went away")),
    },
    { highWaterMark: 0 },
  );
  cancellation.signal.addEventListener("abort", () => room.resolve());

  // How long the receiver may be waited for, with what it has taken so far: what it is slower than its pace adds up.
  let patience_ms = idle_ms;
  const write: Write = async (bytes) => {
    has_begun = true;
    begun.resolve();
    const asked_ms = performance.now();
    const idle = setTimeout(
      () => cancellation.abort(slowError(idle_ms, bytes_s)),
      Math.max(0, Math.min(idle_ms, patience_ms)),
    );
    await room.promise;
    clearTimeout(idle);
    cancellation.signal.throwIfAborted();
    patience_ms -= performance.now() - asked_ms;
    patience_ms = Math.min(idle_ms, patience_ms + (bytes.byteLength / bytes_s) * 1_000);
    // Before the bytes are handed over: that may ask for the next at once.
    room = Promise.withResolvers();
    controller?.enqueue(bytes);
  };

  const run = async (): Promise<void> => {
    try {
      await write_content(write, cancellation.signal);
      if (!cancellation.signal.aborted) controller?.close();
      begun.resolve();
    } catch (error) {
      begun.reject(error);
      if (has_begun) onError(error);
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
