import { expect, test } from "bun:test";
import { openMetrics } from "../../src/app/metrics.ts";
import { metricText } from "../../src/app/metrics_text.ts";
import { ByLabel, counter, Counter, Distribution, type Metric } from "../../src/core/metrics.ts";

const OWN = /^(?:# (?:HELP|TYPE) )?meterhouse_test/;

/** Metrics of a service, the warnings that they log, and the lines of our own. */
function open(options: { max_age_ms?: number; patience_ms?: number } = {}) {
  const warnings: unknown[] = [];
  const metrics = openMetrics({
    log: { warn: (...said: unknown[]) => void warnings.push(said) },
    ...options,
  });
  const lines = async () => (await metrics.print()).body.split("\n").filter((line) => OWN.test(line));
  return { metrics, warnings, lines };
}

test("a histogram counts what is at most each bound, with the sum and the count of all", () => {
  const value = new Distribution([0.1, 1]);
  for (const seconds of [0.05, 0.1, 0.5, 7]) value.observe(seconds);
  const help = "Help with a \\ and\na second line";
  const metric: Metric = { name: "a_seconds", help, type: "histogram", read: () => undefined };
  const labels = { kind: 'a "b"\\' };
  expect(metricText(metric, [{ labels, value }])).toBe(
    [
      "# HELP a_seconds Help with a \\\\ and\\na second line",
      "# TYPE a_seconds histogram",
      'a_seconds_bucket{kind="a \\"b\\"\\\\",le="0.1"} 2',
      'a_seconds_bucket{kind="a \\"b\\"\\\\",le="1"} 3',
      'a_seconds_bucket{kind="a \\"b\\"\\\\",le="+Inf"} 4',
      'a_seconds_sum{kind="a \\"b\\"\\\\"} 7.65',
      'a_seconds_count{kind="a \\"b\\"\\\\"} 4',
      "",
    ].join("\n"),
  );
});

test("one that fails, or never ends, is left out and logged; the others are there", async () => {
  const { metrics, warnings, lines } = open({ patience_ms: 20 });
  metrics.gauge("meterhouse_test_1", "Fails", () => {
    throw new Error("no disk");
  });
  metrics.sampled("meterhouse_test_2", "Never ends", () => new Promise(() => undefined));
  metrics.counter("meterhouse_test_3", "Works", () => 3);
  metrics.gauge("meterhouse_test_4", "Has no value", () => undefined);
  const values = (await lines()).filter((line) => !line.startsWith("#"));
  expect(values).toEqual(["meterhouse_test_3 3"]);
  expect(warnings).toMatchObject([
    [{ metric: "meterhouse_test_1", err: { message: "no disk" } }, "a metric can't be read"],
    [{ metric: "meterhouse_test_2", err: { message: "No value within 20 ms" } }, "a metric can't be read"],
  ]);
});

test("one that takes a query is asked once while its answer is young or under way", async () => {
  const { metrics, lines } = open({ max_age_ms: 60_000 });
  let asked = 0;
  metrics.sampled("meterhouse_test", "Counts its readings", async () => {
    await Bun.sleep(1);
    return ++asked;
  });
  await Promise.all([lines(), lines(), lines()]);
  expect((await lines()).at(-1)).toBe("meterhouse_test 1");
  const fresh = open({ max_age_ms: 0 });
  fresh.metrics.sampled("meterhouse_test", "Counts its readings", () => ++asked);
  await fresh.lines();
  expect((await fresh.lines()).at(-1)).toBe("meterhouse_test 3");
});

test("a label's values are there before their first count", () => {
  const meters = new ByLabel("result", () => new Counter(), ["good", "bad"]);
  meters.of("bad").add(2);
  expect([...meters.samples()]).toEqual([
    { labels: { result: "good" }, value: 0 },
    { labels: { result: "bad" }, value: 2 },
  ]);
});

test("a name is taken once", () => {
  const { metrics } = open();
  metrics.gauge("meterhouse_test_twice", "", () => 1);
  expect(() => metrics.gauge("meterhouse_test_twice", "", () => 2)).toThrow("two metrics");
  counter("meterhouse_other_twice", "");
  expect(() => counter("meterhouse_other_twice", "")).toThrow("two metrics");
});
