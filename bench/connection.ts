import type { Socket } from "bun";

/** An answer as it came; the body is not copied. */
export interface RawAnswer {
  status: number;
  body: Uint8Array;
}

const HEAD_END = Buffer.from("\r\n\r\n");
/** The end of an answer that came in pieces of unknown number. */
const CHUNKS_END = Buffer.from("\r\n0\r\n\r\n");

/**
 * One kept-alive HTTP/1.1 connection, one request at a time. It does only what measuring needs, so that the
 * load takes as little as possible of the cores that the server needs too: bodies have a Content-Length or are chunked.
 */
export class Connection {
  #socket: Socket | undefined;
  #unsent: Uint8Array = new Uint8Array();
  #received: Buffer = Buffer.alloc(0);
  #waiting: PromiseWithResolvers<RawAnswer> | undefined;
  #failure: Error | undefined;

  static async open(origin: string): Promise<Connection> {
    const { hostname, port } = new URL(origin);
    const connection = new Connection();
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        data: (_, chunk) => connection.#receive(chunk),
        drain: () => connection.#write(),
        close: () => connection.#fail(new Error(`Cannot measure ${origin}: it closed the connection`)),
        error: (_, error) => connection.#fail(error),
      },
    });
    socket.setNoDelay(true);
    connection.#socket = socket;
    return connection;
  }

  /** Sends a whole request, as `buildRequest` makes it, and gives the whole answer. */
  send(request: Uint8Array): Promise<RawAnswer> {
    if (this.#failure) return Promise.reject(this.#failure);
    this.#waiting = Promise.withResolvers();
    this.#unsent = request;
    this.#write();
    return this.#waiting.promise;
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket?.end();
  }

  #write(): void {
    if (this.#unsent.length === 0) return;
    const written = this.#socket?.write(this.#unsent) ?? 0;
    this.#unsent = this.#unsent.subarray(Math.max(written, 0));
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const head_end = this.#received.indexOf(HEAD_END);
    if (head_end < 0) return;
    const head = this.#received.toString("latin1", 0, head_end);
    const body_start = head_end + HEAD_END.length;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      if (!/\r\ntransfer-encoding: *chunked/i.test(head))
        return this.#fail(new Error(`Cannot measure an answer without length: ${head}`));
      if (this.#received.subarray(-CHUNKS_END.length).equals(CHUNKS_END))
        this.#answer(head, joinChunks(this.#received.subarray(body_start)), this.#received.length);
      return;
    }
    const body_end = body_start + Number(length);
    if (this.#received.length < body_end) return;
    this.#answer(head, this.#received.subarray(body_start, body_end), body_end);
  }

  #answer(head: string, body: Uint8Array, end: number): void {
    this.#received = this.#received.subarray(end);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ status: Number(head.slice(9, 12)), body });
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

/** The body of an answer in chunks, each after a line with its size. */
function joinChunks(chunks: Buffer): Uint8Array {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const start = chunks.indexOf("\r\n", at) + 2;
    const size = Number.parseInt(chunks.toString("latin1", at, start), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(chunks.subarray(start, start + size));
    at = start + size + 2;
  }
}

/** A request's bytes, to be made before the clock runs. */
export function buildRequest(
  method: string,
  path: string,
  { token, body, headers = {} }: { token?: string; body?: string; headers?: Record<string, string> } = {},
): Uint8Array {
  const head = [`${method} ${path} HTTP/1.1`, "Host: localhost"];
  head.push(...Object.entries(headers).map(([name, value]) => `${name}: ${value}`));
  if (token !== undefined) head.push(`Authorization: Bearer ${token}`);
  if (body !== undefined)
    head.push("Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body ?? ""}`);
}
