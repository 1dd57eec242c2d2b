import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** How an operation ended: done, refused (AppError) or failed. */
export type Outcome = "ok" | "refused" | "failed";

/** The metrics at `/metrics`. */
export interface Metrics {
  observeOperation(operation: string, outcome: Outcome, duration_ms: number): void;
  observeRequest(method: string, route: string, status: number): void;
  /** Registers a gauge whose value is read on each scrape. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  /** The Prometheus text format, and its media type. */
  print(): Promise<{ body: string; content_type: string }>;
}

/** Spaces of V8's heap, which Bun's has not: reading them walks all objects while requests wait. Decision 0164. */
const HEAP_SPACES = ["total", "used", "available"].map((size) => `nodejs_heap_space_size_${size}_bytes`);

let of_process: Registry | undefined;

/** CPU, memory and event loop: set up once, since that looks at the whole heap and starts a timer. */
function processMetrics(): Registry {
  if (of_process === undefined) {
    of_process = new Registry();
    collectDefaultMetrics({ register: of_process });
    for (const name of HEAP_SPACES) of_process.removeSingleMetric(name);
  }
  return of_process;
}

/** Sets up our own metrics, in a registry of their own that is printed after those of the process. */
export function openMetrics(): Metrics {
  const registry = new Registry();
  const process_metrics = processMetrics();
  const operations = new Histogram({
    name: "meterhouse_operation_duration_seconds",
    help: "Duration of operations by name and outcome",
    labelNames: ["operation", "outcome"],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [registry],
  });
  const requests = new Counter({
    name: "meterhouse_http_requests_total",
    help: "HTTP requests answered, by method, route and status",
    labelNames: ["method", "route", "status"],
    registers: [registry],
  });
  // Cached: looking a counter up by its labels costs more than counting.
  const counters = new Map<string, { inc(): void }>();
  return {
    observeOperation(operation, outcome, duration_ms) {
      operations.observe({ operation, outcome }, duration_ms / 1_000);
    },
    observeRequest(method, route, status) {
      const key = `${method} ${route} ${status}`;
      const counter = counters.get(key) ?? requests.labels(method, route, String(status));
      counters.set(key, counter);
      counter.inc();
    },
    gauge(name, help, read) {
      const gauge = new Gauge({
        name,
        help,
        registers: [],
        async collect() {
          this.set(await read());
        },
      });
      registry.registerMetric(gauge);
    },
    async print() {
      const all = Registry.merge([process_metrics, registry]);
      return { body: await all.metrics(), content_type: all.contentType };
    },
  };
}
