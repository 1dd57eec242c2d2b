import type { Socket } from "bun";

/** A request that is written by hand, as slowly as the test wants. */
export interface RawRequest {
  write(text: string): void;
  /** What has come back so far. */
  readonly answer: string;
  /** Answers once the other end has closed the connection. */
  closed: Promise<void>;
  /** Leaves without a word. */
  leave(): void;
}

/** Opens a connection and sends the head of a request, and as much of its body as is given. */
export async function openRequest(
  origin: string,
  path: string,
  headers: Record<string, string | number>,
  begun = "",
): Promise<RawRequest> {
  const closed = Promise.withResolvers<void>();
  let answer = "";
  let unsent = Buffer.alloc(0);
  const flush = (socket: Socket) => void (unsent = unsent.subarray(Math.max(0, socket.write(unsent))));
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(origin).port),
    socket: {
      data: (_, bytes) => void (answer += bytes.toString()),
      drain: flush,
      close: () => closed.resolve(),
    },
  });
  const write = (text: string) => {
    unsent = Buffer.concat([unsent, Buffer.from(text)]);
    flush(socket);
  };
  const head = Object.entries({ host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}`);
  write(`POST ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${begun}`);
  return {
    write,
    get answer() {
      return answer;
    },
    closed: closed.promise,
    leave: () => socket.terminate(),
  };
}

/** The status of the answer, once there is one. */
export async function statusOf(request: RawRequest): Promise<number> {
  while (!request.answer.includes("\r\n\r\n")) await Bun.sleep(2);
  return Number(request.answer.split(" ")[1]);
}
