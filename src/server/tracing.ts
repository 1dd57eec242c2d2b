// Loaded only where traces are exported: it takes 27 MB, and a tenth of a second of a start. Decision 0202.
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { setGlobalErrorHandler, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import packageJson from "../../package.json" with { type: "json" };
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { withTimeout } from "../core/time.ts";
import { type Carrier, setTracer, type Span, type SpanOptions, type Tracer } from "../core/trace.ts";
import { LIMITS } from "./limits.ts";

export interface TracingOptions {
  /** Where spans go, as the OTLP over HTTP expects it: `/v1/traces` is added. */
  endpoint: string;
  /** The share of traces that begin here and are exported, 0 to 1; one that came in follows its caller's decision. */
  share: number;
  log: Pick<Log, "warn">;
  /** How long spans wait for others to be sent with; default 5 seconds. */
  delay_ms?: number;
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

const W3C = new W3CTraceContextPropagator();
const fromHeaders = {
  keys: () => ["traceparent", "tracestate"],
  get: (headers: Carrier, name: string) => headers.get(name) ?? undefined,
};

/** Exports the spans of this process from now on. Returns how to stop: what is not sent yet is sent, if that is quick. */
export function startTracing({
  endpoint,
  share,
  log,
  delay_ms = 5_000,
}: TracingOptions): () => Promise<void> {
  reportFailures(log);
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "meterhouse", "service.version": packageJson.version }))
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({
          url: `${endpoint.replace(/\/$/, "")}/v1/traces`,
          timeoutMillis: LIMITS.trace_export_ms,
        }),
        maxQueueSize: LIMITS.trace_queue,
        maxExportBatchSize: LIMITS.trace_batch,
        scheduledDelayMillis: delay_ms,
        exportTimeoutMillis: LIMITS.trace_export_ms,
      }),
    ],
  });
  const tracer = tracerOf(provider);
  setTracer(tracer);
  return async () => {
    setTracer(null);
    // Spans that can't be sent must not hold up the end.
    await withTimeout(
      provider.shutdown().catch(() => undefined),
      LIMITS.trace_shutdown_ms,
    );
  };
}

/** One warning a minute: an exporter that is down fails every few seconds. */
function reportFailures(log: TracingOptions["log"]): void {
  let next_ms = 0;
  setGlobalErrorHandler((error) => {
    if (performance.now() < next_ms) return;
    next_ms = performance.now() + LIMITS.trace_warning_ms;
    log.warn({ err: error }, "traces can't be exported");
  });
}

function tracerOf(provider: TracerProvider): Tracer {
  const tracer = provider.getTracer("meterhouse", packageJson.version);
  const current = new AsyncLocalStorage<Context>();
  const parentOf = (parent: SpanOptions["parent"]): Context => {
    if (parent === undefined) return current.getStore() ?? ROOT_CONTEXT;
    return parent === null ? ROOT_CONTEXT : W3C.extract(ROOT_CONTEXT, parent, fromHeaders);
  };
  return {
    span(name, { kind = "internal", attributes = {}, parent }, work) {
      const around = parentOf(parent);
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, around);
      return current.run(trace.setSpan(around, span), () => untilEnded(span, work));
    },
    bind(work) {
      const around = current.getStore();
      return around === undefined ? work : (...args) => current.run(around, () => work(...args));
    },
    headers() {
      const headers: Record<string, string> = {};
      W3C.inject(current.getStore() ?? ROOT_CONTEXT, headers, defaultTextMapSetter);
      return headers;
    },
    ids() {
      const around = current.getStore();
      const span = around && trace.getSpanContext(around);
      return span && { trace_id: span.traceId, span_id: span.spanId };
    },
  };
}

async function untilEnded<T>(span: OtelSpan, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await work({
      set: (attributes) => void span.setAttributes({ ...attributes }),
      fail: (type) => fail(span, type),
    });
  } catch (error) {
    // The kind alone: messages may hold what must not leave the service.
    if (error instanceof AppError) span.setAttribute("error.type", error.kind);
    else fail(span, error instanceof Error ? error.name : "unknown");
    throw error;
  } finally {
    span.end();
  }
}

function fail(span: OtelSpan, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
