import { connect, createServer, type Socket } from "node:net";

/** One address for several servers. */
export interface Front {
  /** `http://localhost:3000`. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Opens a round-robin balancer: each connection leads to the next of the servers, and lasts for one request only, so
 * that each request comes to another server than the one before. Its bytes are passed on, however odd or slow they are.
 */
export async function openFront(ports: readonly number[]): Promise<Front> {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const port = ports[connections++ % ports.length] ?? 0;
    const behind = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    for (const [from, to] of [
      [client, behind],
      [behind, client],
    ] as const) {
      open.add(from);
      passOn(from, to);
      from.on("error", () => to.destroy());
      from.on("end", () => to.end());
      from.on("close", () => {
        open.delete(from);
        to.destroySoon();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("The front has no port");
  return {
    url: `http://localhost:${address.port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** Passes a request or an answer on, with a header more after its first line: no other is to follow. */
function passOn(from: Socket, to: Socket): void {
  let begun = Buffer.alloc(0);
  const read = (bytes: Buffer): void => {
    begun = Buffer.concat([begun, bytes]);
    const end = begun.indexOf("\r\n") + 2;
    if (end < 2) return;
    from.off("data", read);
    to.write(begun.subarray(0, end));
    to.write("connection: close\r\n");
    to.write(begun.subarray(end));
    from.pipe(to);
  };
  from.on("data", read);
}
