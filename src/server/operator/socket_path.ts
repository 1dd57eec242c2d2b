import { closeSync, openSync } from "node:fs";
import { join } from "node:path";

/** Bytes that a socket's path may have: those of sockaddr_un, less the zero at the end. */
const PATH_BYTES = 100;

/** The control socket of a data directory, under a path that system calls take. */
export interface SocketPath {
  path: string;
  close(): void;
}

/** A long path is reached through its open folder. Errors: ENOENT when there is no such folder. */
export function controlSocketPath(data_dir: string): SocketPath {
  const path = join(data_dir, "control.sock");
  if (Buffer.byteLength(path) <= PATH_BYTES) return { path, close: () => undefined };
  const folder = openSync(data_dir, "r");
  return { path: `/proc/self/fd/${folder}/control.sock`, close: () => closeSync(folder) };
}
