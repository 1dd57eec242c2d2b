import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { span, traceIds } from "../../src/core/trace.ts";
import { startTracing } from "../../src/server/tracing.ts";
import { addSubscription, search } from "../usage/fixtures.ts";
import { runNamedJob } from "../support/jobs.ts";
import { startService } from "../support/harness.ts";
import { openOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from "../support/otlp_receiver.ts";
import { addWebhook, openReceiver, type Received } from "../support/webhook_receiver.ts";

const AT_ONCE = 12;
const traceOf = (number: number) => number.toString(16).padStart(32, "a");
const PARENT = "00f067aa0ba902b7";
const parented = (number: number, flags = "01") => ({
  traceparent: `00-${traceOf(number)}-${PARENT}-${flags}`,
});

describe("a service that exports all traces", () => {
  let collector: OtlpReceiver;
  let delivered: Received | undefined;
  let ids_in_transactions: (string | undefined)[] = [];

  /** Does a little of everything, and ends, which sends what is not sent yet. */
  beforeAll(async () => {
    collector = openOtlpReceiver();
    const service = await startService({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_TRACES_SAMPLER_ARG: "1",
        NODE_ENV: "development",
      },
    });
    const many = Array.from({ length: AT_ONCE }, (_, i) => i);
    const { external_subscription_id } = await addSubscription(service, "traced");
    await Promise.all(
      many.map((i) => service.api("POST", "/clients", { name: `Client ${i}` }, parented(100 + i))),
    );
    await Promise.all(
      many.map((i) => {
        const event = { external_subscription_id, id: crypto.randomUUID(), usage: i };
        return service.api("POST", "/usage/events", event, parented(200 + i));
      }),
    );
    ids_in_transactions = await Promise.all(
      many.map((i) =>
        span(`outer ${i}`, { parent: null }, () =>
          service.deps.store.tx(async () => {
            await Bun.sleep(0);
            return span(`inner ${i}`, {}, async () => traceIds().trace_id);
          }),
        ),
      ),
    );
    await service.api("GET", "/clients/999", undefined, parented(301));
    await search(service.api, { limit: 1 });
    await runNamedJob(service, "usage_check");
    const receiver = openReceiver();
    await addWebhook(service.api, receiver.url);
    await service.api("POST", "/clients", { name: "Told of" });
    [delivered] = await receiver.calls(1);
    await service.stop();
    await receiver.stop();
  });
  afterAll(() => collector.stop());

  const named = (name: string) => collector.spans.filter((found) => found.name === name);
  const parentOf = ({ trace, parent }: ReceivedSpan) =>
    collector.spans.find((found) => found.trace === trace && found.id === parent);
  const ofTrace = (number: number, name: string): ReceivedSpan => {
    const found = named(name).find(({ trace }) => trace === traceOf(number));
    if (!found) throw new Error(`Trace ${number} has no span ${name}`);
    return found;
  };

  test("sends protobuf to /v1/traces, under its name", () => {
    expect(collector.requests[0]).toEqual({ path: "/v1/traces", type: "application/x-protobuf" });
    expect(new Set(collector.spans.map(({ service }) => service))).toEqual(new Set(["meterhouse"]));
  });

  test("a request goes on with its caller's trace: the operation in it, the transaction in that", () => {
    for (let i = 0; i < AT_ONCE; i++) {
      const request = ofTrace(100 + i, "POST /api/v1/clients");
      expect(request).toMatchObject({
        parent: PARENT,
        kind: 2,
        attributes: {
          "http.request.method": "POST",
          "http.route": "/api/v1/clients",
          "http.response.status_code": 201,
        },
        failed: false,
      });
      const operation = ofTrace(100 + i, "create_client");
      expect(operation).toMatchObject({ parent: request.id, attributes: { "meterhouse.origin": "rest" } });
      expect(ofTrace(100 + i, "transaction").parent).toBe(operation.id);
    }
  });

  test("what shares a commit stays in its own trace", () => {
    for (let i = 0; i < AT_ONCE; i++) {
      const [inner] = named(`inner ${i}`);
      const transaction = inner && parentOf(inner);
      expect(transaction?.name).toBe("transaction");
      expect(transaction && parentOf(transaction)?.name).toBe(`outer ${i}`);
      expect(inner?.trace).toBe(ids_in_transactions[i] ?? "none");
    }
    expect(new Set(ids_in_transactions).size).toBe(AT_ONCE);
  });

  test("appends that share a commit do too", () => {
    for (let i = 0; i < AT_ONCE; i++) {
      const append = ofTrace(200 + i, "usage append");
      expect(append.attributes).toEqual({ "meterhouse.events": 1 });
      expect(append.parent).toBe(ofTrace(200 + i, "record_usage").id);
    }
  });

  test("queries of usage, and refusals by their kind", () => {
    const [question] = named("usage search");
    expect(question && parentOf(question)?.name).toBe("search_usage");
    expect(ofTrace(301, "get_client")).toMatchObject({
      attributes: { "error.type": "not_found" },
      failed: false,
    });
    expect(ofTrace(301, "GET /api/v1/clients/:id").attributes).toMatchObject({
      "http.response.status_code": 404,
    });
  });

  test("a job begins a trace", () => {
    const job = named("job usage_check").find(({ id }) =>
      named("check_usage").some(({ parent }) => parent === id),
    );
    expect(job).toMatchObject({ parent: "", attributes: { "meterhouse.job": "usage_check" } });
  });

  test("an attempt of a webhook begins one, which the receiver may go on with", () => {
    const [attempt] = named("webhook attempt");
    expect(attempt).toMatchObject({ parent: "", kind: 3, attributes: { "http.response.status_code": 200 } });
    expect(delivered?.headers).toMatchObject({ traceparent: `00-${attempt?.trace}-${attempt?.id}-01` });
  });
});

test("of traces that begin here a share is exported; one that came in follows its caller", async () => {
  const collector = openOtlpReceiver();
  const stop = startTracing({ endpoint: collector.url, share: 0, log: { warn: () => undefined } });
  const work = async () => undefined;
  await span("begun here", {}, work);
  await span("wanted", { parent: new Headers(parented(1)) }, () => span("in it", {}, work));
  await span("not wanted", { parent: new Headers(parented(2, "00")) }, work);
  await span("no trace", { parent: new Headers({ traceparent: "00-0-0-01" }) }, work);
  await stop();
  expect(collector.spans.map(({ name }) => name)).toEqual(["in it", "wanted"]);
  await collector.stop();
});

test("an exporter that fails is logged once, and hurts neither work nor the end", async () => {
  const collector = openOtlpReceiver();
  collector.status = 400;
  const warnings: unknown[] = [];
  const log = { warn: (...said: unknown[]) => void warnings.push(said) };
  const stop = startTracing({ endpoint: collector.url, share: 1, log, delay_ms: 1 });
  for (let i = 0; i < 3; i++) {
    expect(await span("work", {}, async () => i)).toBe(i);
    while (collector.requests.length <= i) await Bun.sleep(1);
  }
  await stop();
  expect(warnings).toMatchObject([[{ err: expect.any(Error) }, "traces can't be exported"]]);
  expect(await span("later", {}, async () => "untraced")).toBe("untraced");
  await collector.stop();
});

test("more spans than there is room for are dropped", async () => {
  const collector = openOtlpReceiver();
  const stop = startTracing({ endpoint: collector.url, share: 1, log: { warn: () => undefined } });
  // None is sent before the loop has a turn.
  const made = Array.from({ length: 5_000 }, () => span("many", {}, async () => undefined));
  await Promise.all(made);
  await stop();
  expect(collector.spans.length).toBeLessThanOrEqual(3_000);
  await collector.stop();
});

test("log lines have the ids of the span they are written in", async () => {
  const src = join(import.meta.dir, "..", "..", "src");
  const code = `
    const { openLog } = await import("${src}/core/log.ts");
    const { span, traceIds } = await import("${src}/core/trace.ts");
    const { startTracing } = await import("${src}/server/tracing.ts");
    const log = openLog("info");
    log.info("before");
    const stop = startTracing({ endpoint: "http://localhost:9", share: 0, log });
    await span("work", {}, async () => log.info({ own: traceIds() }, "within"));
    log.info("after");
    await stop();`;
  const child = Bun.spawn([process.execPath, "-e", code], { stderr: "inherit" });
  const lines = (await child.stdout.text()).trim().split("\n");
  const [before, within, after] = lines.map((line) => JSON.parse(line));
  expect(within.own).toEqual({
    trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  expect(within).toMatchObject(within.own);
  for (const line of [before, after]) expect(line).not.toHaveProperty("trace_id");
});
