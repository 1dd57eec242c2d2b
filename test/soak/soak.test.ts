import { afterAll, expect, test } from "bun:test";
import { Cleanup } from "../../bench/cleanup.ts";
import { RunningDigest } from "./digest.ts";
import { TESTS_ALL } from "../support/properties.ts";
import { broken } from "../support/report.ts";
import { soak } from "./soak.ts";
import { Watch } from "./watch.ts";
import type { Service } from "../../bench/service.ts";

/** Some seconds in every run; `SOAK_SECONDS=7200 SOAK_RATE=5000` makes it the long one. */
const SECONDS = Number(process.env.SOAK_SECONDS ?? 5);
const RATE = Number(process.env.SOAK_RATE ?? (TESTS_ALL ? 2_000 : 500));

const cleanup = new Cleanup();
afterAll(() => cleanup.run());

test(
  "under load with searches, webhooks and bills beside it, what was accepted is stored",
  async () => {
    const progress = (line: string) => void (SECONDS > 60 && console.error(line));
    const findings = await soak(cleanup, {
      seconds: SECONDS,
      rate: RATE,
      batch: 100,
      billing_every_s: SECONDS > 60 ? 600 : 2,
      progress,
    });
    // How fast it is says nothing where other tests run beside it.
    const lasting = findings.filter(({ what }) => SECONDS > 60 || !/p99|longest/.test(what));
    expect(broken(lasting)).toEqual([]);
    expect(lasting.length).toBeGreaterThan(6);
  },
  (SECONDS + 300) * 1_000,
);

test("a digest of other events differs", () => {
  const digest = new RunningDigest();
  digest.add("0190a0b0-0000-7000-8000-000000000001", 1_773_144_000_000, 1_000);
  const own = { units: "1000", event_count: 1, corrections: 0, digest: "" };
  expect(digest.equals(own)).toBeFalse();
});

test("memory that grows by more than the index, and descriptors that stay open, are noticed", async () => {
  let [memory, index, descriptors] = [100e6, 10e6, 40];
  const service = { metrics: async () => [memory, index, descriptors] } as unknown as Service;
  const watch = new Watch(service);
  for (let minute = 0; minute < 90; minute++) {
    [memory, index, descriptors] = [100e6 + minute * 1e6, 10e6 + minute * 0.5e6, 40 + minute];
    (await watch.look()).at_s = minute * 60;
  }
  expect(watch.growth).toBeCloseTo(0.125, 2);
  expect(watch.descriptors.after).toBeGreaterThan(watch.descriptors.before + 20);
});
