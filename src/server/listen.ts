import type { Deps } from "../app/deps.ts";
import type { DemoAccount } from "../console/server/demo_accounts.ts";
import { ConsoleFiles } from "../console/server/files.ts";
import { buildApp } from "./http_app.ts";
import type { Actions } from "./operator/action.ts";
import { listenOnControlSocket } from "./operator/control_socket.ts";
import { operatorHandler } from "./operator/handler.ts";
import { LIMITS } from "./limits.ts";
import { withTimeout } from "../core/time.ts";
import { Readiness } from "../http/readiness.ts";
import { listenForMetrics } from "../http/metrics.ts";
import { Dispatcher } from "../webhooks/deliveries/dispatcher.ts";

/** How long a scrape waits for the stores. */
const READY_MS = 1_000;

/** A listening server. */
export interface Server {
  /** Where it listens on this machine: `http://localhost:3000`. */
  url: string;
  /** Where METRICS_PORT is; null where it is not set. */
  metrics_url: string | null;
  /** Makes the console ready before anybody asks for it. */
  prepareConsole(): Promise<unknown>;
  /** Stops listening, answers what is in flight, then cuts off what is still open. */
  stop(): Promise<void>;
}

/**
 * Listens on the configured host and port; port 0 takes a free one. Webhooks go out from here on, until the
 * background is stopped, and commands come in by the control socket. `demo_accounts` sign in by buttons. Errors: throws
 * when the port is taken.
 */
export async function listen(
  deps: Deps,
  actions: Actions = {},
  demo_accounts: readonly DemoAccount[] = [],
): Promise<Server> {
  const readiness = new Readiness(deps);
  const files = new ConsoleFiles(deps.log);
  const app = buildApp(deps, { actions, readiness, files, demo_accounts });
  deps.metrics.gauge(
    "meterhouse_ready",
    "1, or 0 while a store does not answer: what /ready says",
    async () => ((await withTimeout(readiness.check(), READY_MS)) === true ? 1 : 0),
  );
  const metrics = listenForMetrics(deps);
  await deps.watch();
  listenForGood(app, {
    port: deps.config.port,
    hostname: deps.config.host,
    // With it a second process would silently share the port, and the databases.
    reusePort: false,
    // Body sizes are bound where they are read, with an answer that says so.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    idleTimeout: 120,
  });
  const control = listenOnControlSocket(deps, operatorHandler({ deps, actions, api: app }));
  void deps.background.track(new Dispatcher(deps).run());
  return {
    url: `http://localhost:${app.server?.port}`,
    metrics_url: metrics && `http://localhost:${metrics.port}/metrics`,
    prepareConsole: () => files.load(),
    async stop() {
      await Promise.all([metrics?.stop(true), control?.stop(LIMITS.drain_ms), stopServing(app)]);
    },
  };
}

/**
 * Listens until it is stopped. The framework would stop it when the process has nothing left to do, by a listener that
 * keeps every app in memory as long as the process.
 */
function listenForGood(app: ReturnType<typeof buildApp>, options: Parameters<typeof app.listen>[0]): void {
  const before = new Set(process.listeners("beforeExit"));
  app.listen(options);
  for (const listener of process.listeners("beforeExit"))
    if (!before.has(listener)) process.removeListener("beforeExit", listener);
}

/** Answers what is in flight, then cuts off what is still open. */
async function stopServing(app: ReturnType<typeof buildApp>): Promise<void> {
  const drained = app.stop().then(() => true);
  if (await Promise.race([drained, Bun.sleep(LIMITS.drain_ms)])) return;
  await app.stop(true);
}
