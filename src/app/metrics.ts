import {
  Counter,
  Distribution,
  type Metric,
  registeredMetrics,
  type Sample,
  SECONDS,
} from "../core/metrics.ts";
import type { Log } from "../core/log.ts";
import { withTimeout } from "../core/time.ts";
import { metricText } from "./metrics_text.ts";

/** How an operation ended: done, refused (AppError) or failed. */
export type Outcome = "ok" | "refused" | "failed";

/** The metrics at `/metrics`. */
export interface Metrics {
  observeOperation(operation: string, outcome: Outcome, duration_ms: number): void;
  observeRequest(method: string, route: string, status: number, duration_ms: number): void;
  /** Registers a gauge that is read on each scrape. One whose reading fails has no value in that scrape. */
  gauge(name: string, help: string, read: Metric["read"]): void;
  /** As `gauge`, for a number that only grows. */
  counter(name: string, help: string, read: Metric["read"]): void;
  /** As `gauge`, for values that take a query: they are read every 15 seconds at most. */
  sampled(name: string, help: string, read: Metric["read"]): void;
  /** The Prometheus text format, and its media type. */
  print(): Promise<{ body: string; content_type: string }>;
}

export interface MetricsOptions {
  log: Pick<Log, "warn">;
  /** How old a value that takes a query may be; default 15 seconds. */
  max_age_ms?: number | undefined;
  /** How long a scrape waits for a value; default 2 seconds. */
  patience_ms?: number | undefined;
}

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
/** Every other word is one label: a caller may send any. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const TOO_MANY_REQUESTS = 429;
const OPERATION_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

/** The metrics of a service; those of the process are printed with them. */
export function openMetrics({ log, max_age_ms = 15_000, patience_ms = 2_000 }: MetricsOptions): Metrics {
  const own = new Map<string, Metric>();
  const register = (metric: Metric): void => {
    if (own.has(metric.name)) throw new Error(`There are two metrics ${metric.name}`);
    own.set(metric.name, metric);
  };
  const printed = async (metric: Metric): Promise<string> => {
    try {
      const reading = await withTimeout((async () => ({ value: await metric.read() }))(), patience_ms);
      if (reading === null) throw new Error(`No value within ${patience_ms} ms`);
      return metricText(metric, reading.value);
    } catch (error) {
      log.warn({ err: error, metric: metric.name }, "a metric can't be read");
      return metricText(metric, undefined);
    }
  };
  const requests = openRequestMetrics(register);
  const operations = openOperationMetrics(register);
  return {
    observeOperation: operations,
    observeRequest: requests,
    gauge: (name, help, read) => register({ name, help, type: "gauge", read }),
    counter: (name, help, read) => register({ name, help, type: "counter", read }),
    sampled: (name, help, read) =>
      register({ name, help, type: "gauge", read: lately(async () => read(), max_age_ms) }),
    async print() {
      const { processMetrics } = await import("./process_metrics.ts");
      const all = [...own.values(), ...registeredMetrics()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const [of_process, ...texts] = await Promise.all([processMetrics(), ...all.map(printed)]);
      return { body: `${of_process}\n${texts.join("")}`, content_type: CONTENT_TYPE };
    },
  };
}

/** Reads again when the last result, a failure too, is older; never while a reading is under way. */
function lately<T>(read: () => Promise<T>, max_age_ms: number): () => Promise<T> {
  let last: Promise<T> | undefined;
  let next_ms = 0;
  return () => {
    if (last === undefined || performance.now() >= next_ms) {
      next_ms = Number.POSITIVE_INFINITY;
      const ended = (): void => void (next_ms = performance.now() + max_age_ms);
      last = read();
      last.then(ended, ended);
    }
    return last;
  };
}

function openOperationMetrics(register: (metric: Metric) => void): Metrics["observeOperation"] {
  const durations = new Map<string, Sample & { value: Distribution }>();
  register({
    name: "meterhouse_operation_duration_seconds",
    help: "Duration of operations, by name and outcome",
    type: "histogram",
    read: () => durations.values(),
  });
  return (operation, outcome, duration_ms) => {
    const key = `${operation} ${outcome}`;
    const known = durations.get(key) ?? {
      labels: { operation, outcome },
      value: new Distribution(OPERATION_SECONDS),
    };
    durations.set(key, known);
    known.value.observe(duration_ms / 1_000);
  };
}

function openRequestMetrics(register: (metric: Metric) => void): Metrics["observeRequest"] {
  // One look-up a request: its counter and the duration of its route stand together.
  const answered = new Map<
    string,
    { labels: Record<string, string>; count: Counter; seconds: Distribution }
  >();
  const durations = new Map<string, Sample & { value: Distribution }>();
  let limited = 0;
  register({
    name: "meterhouse_http_requests_total",
    help: "HTTP requests answered, by method, route and status",
    type: "counter",
    read: () => answered.values().map(({ labels, count }) => ({ labels, value: count.value })),
  });
  register({
    name: "meterhouse_http_request_duration_seconds",
    help: "Time until an HTTP request's answer began, by route",
    type: "histogram",
    read: () => durations.values(),
  });
  register({
    name: "meterhouse_rate_limited_total",
    help: "HTTP requests answered 429: over a rate limit, or too many at once",
    type: "counter",
    read: () => limited,
  });
  const meet = (method: string, route: string, status: number) => {
    const duration = durations.get(route) ?? { labels: { route }, value: new Distribution(SECONDS) };
    durations.set(route, duration);
    const labels = { method, route, status: String(status) };
    return { labels, count: new Counter(), seconds: duration.value };
  };
  return (sent, route, status, duration_ms) => {
    const method = METHODS.has(sent) ? sent : "other";
    const key = `${method} ${route} ${status}`;
    let known = answered.get(key);
    if (known === undefined) {
      known = meet(method, route, status);
      answered.set(key, known);
    }
    known.count.add();
    known.seconds.observe(duration_ms / 1_000);
    if (status === TOO_MANY_REQUESTS) limited++;
  };
}
