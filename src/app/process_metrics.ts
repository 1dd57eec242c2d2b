// Loaded by the first scrape: a start need not load the library, nor an unwatched process look at its event loop.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { collectDefaultMetrics, Registry } from "prom-client";
import { gauge } from "../core/metrics.ts";

/** Spaces of V8's heap, which Bun's has not: reading them walks all objects while requests wait. Decision 0164. */
const HEAP_SPACES = ["total", "used", "available"].map((size) => `nodejs_heap_space_size_${size}_bytes`);

const registry = new Registry();
collectDefaultMetrics({ register: registry });
for (const name of HEAP_SPACES) registry.removeSingleMetric(name);

/** CPU, memory and event loop of the process, as text. */
export const processMetrics = (): Promise<string> => registry.metrics();

/** How often the event loop is looked at, and for how long its longest delay is shown at least. */
const RESOLUTION_MS = 20;
const WINDOW_MS = 15_000;

gauge(
  "meterhouse_event_loop_lag_seconds",
  "The longest time that the event loop was held up, since a scrape 15 seconds ago or longer",
  longestDelay(),
);

function longestDelay(): () => number {
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let began_ms = 0;
  let seconds = 0;
  return () => {
    if (delays === undefined) {
      delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      delays.enable();
      began_ms = performance.now();
    }
    // Prometheus in pairs must not take each other's delays away.
    if (performance.now() - began_ms < WINDOW_MS) return Math.max(seconds, delays.max / 1e9);
    seconds = delays.max / 1e9;
    began_ms = performance.now();
    delays.reset();
    return seconds;
  };
}
