/** What a span says beside its name and times. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Headers of a request, as they are read. */
export interface Carrier {
  get(name: string): string | null;
}

export interface SpanOptions {
  attributes?: Attributes;
  /** `server`: a request that came; `client`: one that goes out; `internal`, the default: work in between. */
  kind?: "server" | "client" | "internal";
  /** The headers that may name a parent (W3C Trace Context), or null for none; default: the span around the call. */
  parent?: Carrier | null;
}

/** A span under way. */
export interface Span {
  set(attributes: Attributes): void;
  /** Marks it as failed although its work does not throw; `type` says what failed, in one word. */
  fail(type: string): void;
}

/** Where spans go: `server/tracing.ts` has the one implementation, loaded only if traces are exported. */
export interface Tracer {
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  bind<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R;
  /** The headers that name the current span as the parent of what a receiver does. */
  headers(): Record<string, string>;
  ids(): { trace_id: string; span_id: string } | undefined;
}

let tracer: Tracer | null = null;

/** Sets where the spans of this process go; null: nowhere. */
export function setTracer(next: Tracer | null): void {
  tracer = next;
}

/** Whether spans are recorded: for work that only they need. */
export const isTracing = (): boolean => tracer !== null;

const UNRECORDED: Span = { set: () => undefined, fail: () => undefined };

/** Runs `work` in a span of the trace around it; without traces it just runs. */
export function span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  return tracer === null ? work(UNRECORDED) : tracer.span(name, options, work);
}

/** The same function, which will run in the span around this call: for what another caller runs, such as a queue. */
export function bindToSpan<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R {
  return tracer === null ? work : tracer.bind(work);
}

/** `traceparent` and `tracestate` of the current span, for a request that goes out. */
export const traceHeaders = (): Record<string, string> => tracer?.headers() ?? {};

/** The ids of the current span, for log lines. */
export const traceIds = (): { trace_id?: string; span_id?: string } => tracer?.ids() ?? {};
