/** Labels of a sample: few values each, and never a company's or client's. Decision 0201. */
export type Labels = Readonly<Record<string, string>>;

export type MetricType = "counter" | "gauge" | "histogram";

/** One value of a metric. */
export interface Sample {
  labels?: Labels;
  value: number | Distribution;
}

/** What reading a metric gives: one value, several with labels, or none where there is none now. */
export type Reading = number | Iterable<Sample> | undefined;

/** A metric as Prometheus knows it. */
export interface Metric {
  /** With its unit: `meterhouse_…_seconds`, and `_total` where it counts. */
  name: string;
  help: string;
  type: MetricType;
  read(): Reading | Promise<Reading>;
}

/** Values counted by size. Observing one takes some 50 ns: a look at a few bounds and two additions. */
export class Distribution {
  /** The upper bounds, ascending; a last class without a bound follows them. */
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  get sum(): number {
    return this.#sum;
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at++;
    counts[at] = (counts[at] ?? 0) + 1;
    this.#sum += value;
  }

  /** Observes the seconds since an instant of `performance.now()`. */
  observeSince(began_ms: number): void {
    this.observe((performance.now() - began_ms) / 1_000);
  }
}

/** A number that only grows. */
export class Counter {
  #value = 0;

  get value(): number {
    return this.#value;
  }

  add(count = 1): void {
    this.#value += count;
  }
}

/** One metric for each value of a label, made when it is first asked for. */
export class ByLabel<M extends Counter | Distribution> {
  readonly #label: string;
  readonly #make: () => M;
  readonly #values = new Map<string, M>();

  /** `values` are shown from the beginning, so that their first count is seen as growth. */
  constructor(label: string, make: () => M, values: readonly string[] = []) {
    this.#label = label;
    this.#make = make;
    for (const value of values) this.of(value);
  }

  of(value: string): M {
    const known = this.#values.get(value);
    if (known !== undefined) return known;
    const made = this.#make();
    this.#values.set(value, made);
    return made;
  }

  *samples(): Iterable<Sample> {
    for (const [value, metric] of this.#values) {
      const labels = { [this.#label]: value };
      yield { labels, value: metric instanceof Counter ? metric.value : metric };
    }
  }
}

/** Seconds from a millisecond to a minute: for what usually takes a few. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60] as const;

const metrics = new Map<string, Metric>();

/**
 * The metrics of this process. They stand as constants beside what they measure and need not be handed around; services
 * that share a process, as in tests, share them.
 */
export const registeredMetrics = (): Iterable<Metric> => metrics.values();

function register(metric: Metric): void {
  if (metrics.has(metric.name)) throw new Error(`There are two metrics ${metric.name}`);
  metrics.set(metric.name, metric);
}

export function counter(name: string, help: string): Counter {
  const metric = new Counter();
  register({ name, help, type: "counter", read: () => metric.value });
  return metric;
}

export function counterBy(
  name: string,
  help: string,
  label: string,
  values: readonly string[] = [],
): ByLabel<Counter> {
  const metric = new ByLabel(label, () => new Counter(), values);
  register({ name, help, type: "counter", read: () => metric.samples() });
  return metric;
}

export function histogram(name: string, help: string, bounds: readonly number[] = SECONDS): Distribution {
  const metric = new Distribution(bounds);
  register({ name, help, type: "histogram", read: () => [{ value: metric }] });
  return metric;
}

export function histogramBy(
  name: string,
  help: string,
  label: string,
  bounds: readonly number[] = SECONDS,
): ByLabel<Distribution> {
  const metric = new ByLabel(label, () => new Distribution(bounds));
  register({ name, help, type: "histogram", read: () => metric.samples() });
  return metric;
}

/** A gauge of the process, read on each scrape. */
export function gauge(name: string, help: string, read: Metric["read"]): void {
  register({ name, help, type: "gauge", read });
}
