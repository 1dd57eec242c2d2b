import { readConfig } from "../core/config.ts";
import { EXIT } from "../core/exit_codes.ts";
import type { Log } from "../core/log.ts";
import { LIMITS } from "../server/limits.ts";
import { openDeps } from "../server/open_deps.ts";
import { lowerWorkerPriority } from "../server/thread_priority.ts";
import type { Command } from "./command.ts";

/** How long after a start its first requests are over, such as those of probes. */
const SETTLED_MS = 1_000;

export const serve: Command = {
  name: "serve",
  summary: "Run the service (the default)",
  help: `Usage: bun src/main.ts serve

Brings the databases up to date, creates the first company and its admin when there is none, serves HTTP and
runs the jobs. SIGTERM and SIGINT answer what is in flight, close both stores and exit with 0; during the start at once.`,
  operands: 0,
  options: {},
  async run() {
    // As the first process of a container it would not end by a signal that it does not take.
    const signalled = firstSignal();
    let is_started = false;
    void signalled.then(() => is_started || process.exit(EXIT.done));
    const opening = openDeps(readConfig(process.env));
    // Routes and jobs are loaded while the stores wait for the disk.
    const [deps, { startServing }] = await Promise.all([opening, import("./start_serving.ts")]);
    lowerWorkerPriority();
    const serving = await startServing(deps);
    const { url, metrics_url } = serving.server;
    const origin = deps.config.public_url ?? url;
    is_started = true;
    console.log(`Meterhouse listens on ${url} (API: ${origin}/api/v1, documentation: ${origin}/docs)`);
    if (metrics_url !== null) console.log(`Metrics are at ${metrics_url}`);
    // What only the start ran need not stay in memory: decision 0170.
    setTimeout(Bun.shrink, SETTLED_MS).unref();

    process.on("uncaughtException", (error) => surviveDriver(error, deps.log));

    const signal = await signalled;
    deps.log.info({ signal }, "stopping");
    // Whatever still holds on then is cut off: both stores are as safe as after a crash.
    await Promise.race([serving.stop(), Bun.sleep(LIMITS.shutdown_ms)]);
    process.exit(0);
  },
};

/**
 * PostgreSQL's driver writes to a connection that broke a moment before, in a turn of its own where nobody can catch it:
 * the transaction has failed already. Any other error that nobody caught ends the process, as it does by itself.
 */
function surviveDriver(error: Error, log: Log): void {
  if (error instanceof TypeError && /\bsocket\.write\b|\bnextWrite\b/.test(error.stack ?? "")) {
    log.debug({ err: error }, "database: wrote to a connection that had broken");
    return;
  }
  log.fatal({ err: error }, "an error that nobody caught");
  process.exit(EXIT.failed);
}

function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => resolve(signal));
  });
}
