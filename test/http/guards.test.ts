import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { leaveAcceptance } from "../../src/server/clock_files.ts";
import { JOBS } from "../../src/server/jobs.ts";
import { runJob, startJobs } from "../../src/server/scheduler.ts";
import { readMetrics, TEST_STORE, useService } from "../support/harness.ts";

// What waits while the disk is almost full, or the clock was set: decisions 0197 and 0198.

let free_bytes = 50e9;
let disk_answers = Promise.resolve();
const ahead = { wall_ms: 0, monotonic_ms: 0 };
const service = useService({
  env: { DISK_RESERVE: "1GB" },
  disk: async () => {
    await disk_answers;
    return { size_bytes: 1e12, free_bytes };
  },
  machine_clocks: () => ({
    wall_ms: Date.now() + ahead.wall_ms,
    monotonic_ms: performance.now() + ahead.monotonic_ms,
  }),
});

const is_sqlite = TEST_STORE === "sqlite";
const job = (name: string) => {
  const found = JOBS.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`No job ${name}`);
  return found;
};

async function leaveDisk(bytes: number): Promise<void> {
  free_bytes = bytes;
  for (const { guards } of service.instances) await guards.disk.look();
}

/** The time passes for both clocks, or only the wall clock is set. */
function pass(ms: number): void {
  ahead.wall_ms += ms;
  ahead.monotonic_ms += ms;
}

const ready = async () => (await service.anonymous("GET", "origin:/ready")).body;
const metric = async (name: string) =>
  Number(new RegExp(`^meterhouse_${name} (\\S+)$`, "m").exec((await readMetrics(service)).body)?.[1]);

test("below the reserve writes are a 503 with the reason, reads go on, and what frees room does too", async () => {
  const { api } = service;
  const { body } = await api("POST", "/clients", { name: "Before" });
  await leaveDisk(999e6);
  const refused = await api("POST", "/clients", { name: "While it is low" });
  if (is_sqlite) {
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
    expect(refused.body.error).toContain("999 MB are free, and DISK_RESERVE keeps 1000 MB");
  } else expect(refused.status).toBe(201);
  const keyed = await api("POST", "/clients", { name: "Keyed" }, { "idempotency-key": "low" });
  expect(keyed.status).toBe(is_sqlite ? 503 : 201);
  expect((await api("GET", "/clients")).status).toBe(200);
  expect((await api("DELETE", `/clients/${body.data.id}`)).status).toBe(200);
  const again = await service.signIn(service.admin_email);
  expect((await again("POST", "/logout", {})).status).toBeLessThan(300);
  expect(await ready()).toEqual({ status: "ok", details: [expect.stringContaining("almost full")] });
  expect(await metric("disk_free_bytes")).toBe(999e6);
  await leaveDisk(1.19e9);
  expect((await ready()).details).toHaveLength(1);
  await leaveDisk(1.2e9);
  expect((await api("POST", "/clients", { name: "Room again" })).status).toBe(201);
  expect(await ready()).toEqual({ status: "ok" });
});

test("the disk is as it was at the last look where it does not answer", async () => {
  await leaveDisk(2e9);
  const { promise, resolve } = Promise.withResolvers<void>();
  disk_answers = promise;
  try {
    expect([await metric("disk_bytes"), await metric("disk_free_bytes")]).toEqual([1e12, 2e9]);
  } finally {
    resolve();
  }
});

test("usage and documents are refused before anything of them is written, on any database", async () => {
  const { usage, documents } = service.deps;
  await leaveDisk(1e6);
  const event = {
    id: crypto.randomUUID(),
    subscription_id: 1,
    timestamp: 1,
    timestamp_given: true,
    usage: "1",
  };
  const stored = usage.append(1, [{ ...event, metadata: null }], Date.now());
  expect(await stored.catch(({ kind }) => kind)).toBe("unavailable");
  expect(await documents.stage(1).catch(({ kind }) => kind)).toBe("unavailable");
  expect(await usage.lastSeq(1, 1_000)).toBe(0);
  const headers = { "content-type": "application/vnd.apache.parquet" };
  const block = await service.api("POST", "/usage/import", "not Parquet", headers);
  expect([block.status, block.body.error]).toEqual([503, expect.stringContaining("almost full")]);
  await leaveDisk(50e9);
});

test("a job that writes waits for room and then runs; one that frees room does not wait", async () => {
  const { deps } = service;
  await leaveDisk(1e6);
  expect(await runJob(deps, job("billing_run")).catch(({ message }) => message)).toContain(
    "Cannot run billing_run",
  );
  expect(await runJob(deps, job("event_prune"))).toBe(true);
  // Collections are looked for at once when jobs start.
  const looks = async () =>
    Number(
      /count{operation="collect_due",outcome="ok"} (\d+)/.exec((await readMetrics(service)).body)?.[1] ?? 0,
    );
  const stop = startJobs(deps);
  await Bun.sleep(20);
  expect(await looks()).toBe(0);
  await leaveDisk(50e9);
  while ((await looks()) === 0) await Bun.sleep(50);
  await stop();
});

test("a clock that is set by three days holds what writes money until it is accepted and steady", async () => {
  const { api, deps } = service;
  const before = deps.clock.now();
  ahead.wall_ms += 3 * 86_400_000;
  expect(deps.clock.now().since(before).total("seconds")).toBeLessThan(5);
  const refused = await api("POST", "/billing-runs", {});
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "60"]);
  expect(refused.body.error).toContain("waits for the clock");
  expect((await api("POST", "/clients", { name: "Requests go on" })).status).toBe(201);
  expect(await metric("money_held")).toBe(1);
  expect(Math.round(await metric("clock_offset_seconds"))).toBe(3 * 86_400);
  expect((await ready()).details).toEqual([expect.stringContaining("clock accept")]);
  expect(await runJob(deps, job("collections")).catch(({ kind }) => kind)).toBe("conflict");
  if (!is_sqlite) {
    // PostgreSQL's clock does not agree, so that nothing else helps than to set it back.
    ahead.wall_ms -= 3 * 86_400_000;
    while (deps.guards.clock.problem !== null) await Bun.sleep(20);
    return;
  }
  const { data_dir } = deps.config;
  leaveAcceptance(data_dir, Temporal.Now.instant().add({ hours: 72 }));
  while (existsSync(join(data_dir, "clock.accept"))) await Bun.sleep(20);
  expect(await metric("money_held")).toBe(1);
  pass(15 * 60_000);
  expect(await metric("money_held")).toBe(0);
  // Tokens of three days ago have expired.
  const again = await service.signIn(service.admin_email);
  expect((await again("POST", "/billing-runs", {})).status).toBeLessThan(300);
  expect(deps.clock.now().since(before).total("days")).toBeGreaterThan(3);
});
