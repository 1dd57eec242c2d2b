import { rmSync } from "node:fs";
import type { Deps } from "../../app/deps.ts";
import { controlSocketPath } from "./socket_path.ts";

/** The control socket of a running server. */
export interface ControlSocket {
  /** Lets what is under way end, up to `drain_ms`, and removes the socket. */
  stop(drain_ms: number): Promise<void>;
}

/** Owner only, whatever the process's umask was. */
const PRIVATE = 0o177;

/**
 * Serves `DATA_DIR/control.sock`, which only this user may open. Call it while the folder's usage store is open: whoever
 * has that owns the folder, so that a socket found there is a dead server's. Where the file system takes no sockets the
 * service goes on without: null.
 */
export function listenOnControlSocket(
  { config, log }: Deps,
  fetch: (request: Request) => Promise<Response>,
): ControlSocket | null {
  const socket = controlSocketPath(config.data_dir);
  const former = process.umask(PRIVATE);
  try {
    rmSync(socket.path, { force: true });
    const server = Bun.serve({
      unix: socket.path,
      fetch(request, listening) {
        // Work may take long.
        listening.timeout(request, 0);
        return fetch(request);
      },
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    });
    return {
      async stop(drain_ms) {
        rmSync(socket.path, { force: true });
        const drained = server.stop().then(() => true);
        if (!(await Promise.race([drained, Bun.sleep(drain_ms)]))) await server.stop(true);
        socket.close();
      },
    };
  } catch (error) {
    socket.close();
    log.warn({ err: error }, "no control socket: commands need the server stopped");
    return null;
  } finally {
    process.umask(former);
  }
}
