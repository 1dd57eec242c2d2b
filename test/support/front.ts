import { connect, createServer, type Socket } from "node:net";

/** One address for several servers. */
export interface Front {
  /** `http://localhost:3000`. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Opens a round-robin balancer: each connection leads to the next of the servers, and clients are told to close it after
 * one request, so that the next comes to another server. Bytes are passed on as they come, however odd or slow.
 */
export async function openFront(ports: readonly number[]): Promise<Front> {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const port = ports[connections++ % ports.length] ?? 0;
    const behind = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    for (const socket of [client, behind]) {
      open.add(socket);
      // What follows is its end.
      socket.on("error", () => undefined);
      socket.on("close", () => open.delete(socket));
    }
    client.pipe(behind);
    passOn(behind, client);
    client.on("close", () => behind.destroy());
    behind.on("close", () => {
      // The answer reaches those too who have not sent everything: what else they send is read, and goes nowhere.
      client.unpipe(behind);
      client.resume();
      client.end();
    });
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

/** Passes an answer on, with a header more after its first line, by which clients close the connection. */
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
  from.on("end", () => to.end());
}
