import { type Config, readConfig } from "../core/config.ts";
import { EXIT } from "../core/exit_codes.ts";
import type { Log } from "../core/log.ts";
import type { Demo } from "../demo/demo.ts";
import { refuseDemo } from "../demo/folder.ts";
import { LIMITS } from "../server/limits.ts";
import { openDeps } from "../server/open_deps.ts";
import { lowerWorkerPriority } from "../server/thread_priority.ts";
import type { Command } from "./command.ts";

/** How long after a start its first requests are over, such as those of probes. */
const SETTLED_MS = 1_000;

export const serve: Command = {
  name: "serve",
  summary: "Run the service (the default)",
  help: `Usage: bun src/main.ts serve [--demo]

Brings the databases up to date, creates the first company and its admin when there is none, serves HTTP and
runs the jobs. SIGTERM and SIGINT answer what is in flight, close both stores and exit with 0; during the start at once.

  --demo  serves a made-up company of thirteen months instead, with a button for each role to sign in by, on 127.0.0.1
          only. It is made once, in half a minute, in a folder beside DATA_DIR (data/demo); what one does there is kept
          until the folder is deleted. Of the settings those of the process hold: PORT, LOG_LEVEL, USAGE_MEMORY_LIMIT,
          DISK_RESERVE`,
  operands: 0,
  options: { demo: { type: "boolean" } },
  async run(words) {
    // As the first process of a container it would not end by a signal that it does not take.
    const signalled = firstSignal();
    let is_started = false;
    void signalled.then(() => is_started || process.exit(EXIT.done));
    const configured = readConfig(process.env);
    const demo = words.values.demo === true ? await findDemo(configured) : null;
    if (demo === null) refuseDemo(configured);
    const opening = openDeps(demo?.config ?? configured, { serves: true });
    // Routes and jobs are loaded while the stores wait for the disk.
    const [deps, { startServing }] = await Promise.all([opening, import("./start_serving.ts")]);
    lowerWorkerPriority();
    const life = await demo?.open(deps);
    const serving = await startServing(deps, demo?.accounts);
    life?.begin();
    const { server, first_admin } = serving;
    void server.prepareConsole();
    const { url, metrics_url } = server;
    const origin = deps.config.public_url ?? url;
    is_started = true;
    console.log(
      `Meterhouse listens on ${url} (console: ${origin}/console, API: ${origin}/api/v1, documentation: ${origin}/docs)`,
    );
    if (demo !== null) console.log(`Open ${origin}/console: this is the demo, sign in by a button`);
    if (first_admin !== null) console.log(`Open ${origin}/console and sign in as ${first_admin}`);
    if (metrics_url !== null) console.log(`Metrics are at ${metrics_url}`);
    // What only the start ran need not stay in memory: decision 0170.
    setTimeout(Bun.shrink, SETTLED_MS).unref();

    process.on("uncaughtException", (error) => surviveDriver(error, deps.log));

    const signal = await signalled;
    deps.log.info({ signal }, "stopping");
    await Promise.race([serving.leave(), Bun.sleep(LIMITS.leave_ms)]);
    // Whatever still holds on then is cut off: both stores are as safe as after a crash.
    await Promise.race([serving.stop(), Bun.sleep(LIMITS.shutdown_ms)]);
    process.exit(0);
  },
};

/** Finds the demo, or makes it: what that takes is loaded for nobody else. */
async function findDemo(configured: Config): Promise<Demo> {
  const [{ prepareDemo }, { openProgress }] = await Promise.all([
    import("../demo/demo.ts"),
    import("./progress.ts"),
  ]);
  const report = openProgress("Making the demo");
  try {
    return await prepareDemo(configured, { report });
  } finally {
    report.end();
  }
}

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
