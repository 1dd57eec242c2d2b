import { expect, test } from "bun:test";
import { findLongestDue } from "../../src/webhooks/deliveries/lease_queries.ts";
import { addSubscription, search, send } from "../usage/fixtures.ts";
import { readMetrics, TEST_STORE, useService } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";
import { addWebhook, MovingClock, openReceiver, until } from "../support/webhook_receiver.ts";

/** Every metric of ours, by its type. What a dashboard or an alert names must be here. */
const EXPORTED = {
  backup_last_timestamp: "gauge",
  backup_log_lag_seconds: "gauge",
  backup_verified_timestamp: "gauge",
  bills_due: "gauge",
  bills_failed: "gauge",
  bills_unproved: "gauge",
  build_info: "gauge",
  clock_offset_seconds: "gauge",
  damage_met_total: "counter",
  disk_bytes: "gauge",
  disk_free_bytes: "gauge",
  event_loop_lag_seconds: "gauge",
  http_request_duration_seconds: "histogram",
  http_requests_total: "counter",
  job_duration_seconds: "histogram",
  job_failures_total: "counter",
  job_interval_seconds: "gauge",
  job_last_success_timestamp: "gauge",
  limit_totals: "gauge",
  limit_totals_uncertain: "gauge",
  mandate_orders_unknown: "gauge",
  memory_bytes: "gauge",
  money_held: "gauge",
  operation_duration_seconds: "histogram",
  rate_limited_total: "counter",
  ready: "gauge",
  sqlite_wal_bytes: "gauge",
  store_tx_duration_seconds: "histogram",
  store_tx_retries_total: "counter",
  store_writer_waiting: "gauge",
  unbilled_usage_events: "gauge",
  usage_checkpoint_seconds: "histogram",
  usage_commit_duration_seconds: "histogram",
  usage_commit_events: "histogram",
  usage_events_total: "counter",
  usage_index_bytes: "gauge",
  usage_index_entries: "gauge",
  usage_lanes: "gauge",
  usage_pending_events: "gauge",
  usage_question_duration_seconds: "histogram",
  usage_questions_waiting: "gauge",
  usage_store_failures_total: "counter",
  usage_store_open: "gauge",
  usage_retention_stopped: "gauge",
  usage_sums_different: "gauge",
  webhook_attempts_total: "counter",
  webhook_oldest_seconds: "gauge",
  webhook_pending: "gauge",
};

/** The labels, each with few values. None may name a company or client. */
const LABELS = new Set(
  "bun commit database job kind le method operation outcome result route status store usage version".split(
    " ",
  ),
);

const clock = new MovingClock();
const service = useService({
  clock,
  env: { NODE_ENV: "development", RATE_LIMIT_ENABLED: "true", RATE_LIMIT_LOGIN: "1" },
});

/** The samples of ours by their name and labels. */
async function samples(): Promise<Map<string, number>> {
  const { body } = await readMetrics(service);
  const lines: string[] = String(body).split("\n");
  const own = lines.filter((line) => line.startsWith("meterhouse_"));
  return new Map(own.map((line) => [line.slice(11, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

/** How much each counter grew while `work` ran. */
async function growth(work: () => Promise<void>): Promise<(name: string) => number> {
  const before = await samples();
  await work();
  const after = await samples();
  return (name) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
}

test("every metric has its name and type, and no label that names a company or client", async () => {
  const { body } = await readMetrics(service);
  const types = [...String(body).matchAll(/^# TYPE meterhouse_(\w+) (\w+)$/gm)];
  expect(Object.fromEntries(types.map(([, name, type]) => [name, type]))).toEqual(EXPORTED);
  const own = String(body).replaceAll(/^(?!meterhouse_).*$/gm, "");
  const labels = new Set([...own.matchAll(/[{,](\w+)="/g)].map(([, label = ""]) => label));
  expect([...labels].filter((label) => !LABELS.has(label))).toEqual([]);
});

test("requests, transactions and refusals are counted and timed", async () => {
  const grown = await growth(async () => {
    for (let i = 0; i < 3; i++) await service.api("POST", "/clients", { name: `Client ${i}` });
    const wrong = { email: "nobody@example.com", password: "wrong password" };
    while ((await service.anonymous("POST", "/login", wrong)).status !== 429);
  });
  expect(grown('http_requests_total{method="POST",route="/api/v1/clients",status="201"}')).toBe(3);
  expect(grown('http_request_duration_seconds_count{route="/api/v1/clients"}')).toBe(3);
  expect(grown('operation_duration_seconds_count{operation="create_client",outcome="ok"}')).toBe(3);
  expect(grown("store_tx_duration_seconds_count")).toBeGreaterThanOrEqual(3);
  expect(grown("rate_limited_total")).toBe(1);
});

test("a word that is no method is one label", async () => {
  for (const method of ["PROPFIND", "LOCK"]) await fetch(`${service.url}/api/v1/clients`, { method });
  const routes = [...(await samples()).keys()].filter((name) => /PROPFIND|LOCK/.test(name));
  expect(routes).toEqual([]);
});

test("usage events are counted by what became of them, commits and queries by their time", async () => {
  const { external_subscription_id } = await addSubscription(service, "metered");
  const event = { external_subscription_id, id: crypto.randomUUID(), usage: 1 };
  const grown = await growth(async () => {
    expect((await send(service.api, [event, { ...event, id: crypto.randomUUID() }])).status).toBe(201);
    expect((await send(service.api, event)).status).toBe(201);
    expect((await send(service.api, [event, { ...event, usage: 2 }])).status).toBe(409);
    await search(service.api, { limit: 1 });
  });
  const results = ["accepted", "duplicate", "rejected", "failed"];
  expect(results.map((result) => grown(`usage_events_total{result="${result}"}`))).toEqual([2, 1, 2, 0]);
  expect(grown("usage_commit_events_sum")).toBe(2);
  expect(grown("usage_commit_duration_seconds_count")).toBeGreaterThan(0);
  expect(grown('usage_question_duration_seconds_count{kind="search"}')).toBe(1);
  const now = await samples();
  expect(now.get("ready")).toBe(1);
  const zero = [
    "bills_unproved",
    "usage_pending_events",
    "usage_questions_waiting",
    "usage_sums_different",
    "bills_failed",
  ];
  expect(zero.map((name) => now.get(name))).toEqual(zero.map(() => 0));
  expect(now.get("sqlite_wal_bytes")).toEqual(TEST_STORE === "sqlite" ? expect.any(Number) : undefined);
});

test("a scrape counts the totals of limits once, and the next one anew", async () => {
  const totals = service.deps.usage.running_totals;
  const { counts } = totals;
  let walks = 0;
  Object.defineProperty(totals, "counts", {
    configurable: true,
    get: () => ({ ...counts, watches: ++walks, uncertain: walks }),
  });
  try {
    for (let scrape = 1; scrape <= 2; scrape++) {
      const now = await samples();
      expect([now.get("limit_totals"), now.get("limit_totals_uncertain")]).toEqual([scrape, scrape]);
    }
  } finally {
    Reflect.deleteProperty(totals, "counts");
  }
});

test("jobs tell when they last ended well; one that has not, the start", async () => {
  const last = async (job: string) => (await samples()).get(`job_last_success_timestamp{job="${job}"}`) ?? 0;
  const started = await last("usage_check");
  clock.advance({ hours: 5 });
  const grown = await growth(async () => void (await runNamedJob(service, "usage_check")));
  expect((await last("usage_check")) - started).toBeGreaterThanOrEqual(5 * 3_600);
  expect(await last("event_prune")).toBe(started);
  expect(grown('job_duration_seconds_count{job="usage_check"}')).toBe(1);
  expect(grown('job_failures_total{job="usage_check"}')).toBe(0);
  const now = await samples();
  const intervals = ["usage_check", "billing_run", "collections", "mandate_orders"].map((job) =>
    now.get(`job_interval_seconds{job="${job}"}`),
  );
  expect(intervals).toEqual([86_400, 3_600, 900, 1]);
});

test("webhooks tell their attempts, what is pending and how long the oldest is due", async () => {
  const tenant = await service.addTenant();
  const receiver = openReceiver();
  receiver.answer(() => new Response("no", { status: 500 }));
  await addWebhook(tenant.api, receiver.url);
  const grown = await growth(async () => {
    await tenant.api("POST", "/clients", { name: "Acme" });
    await receiver.calls(1);
    await until(async () => (await samples()).get("webhook_pending") === 1, "the retry");
  });
  expect(grown('webhook_attempts_total{outcome="refused"}')).toBe(1);
  expect((await samples()).get("webhook_oldest_seconds")).toBe(0);
  const { read } = service.deps.store;
  const due_at = await findLongestDue(read, clock.now().add({ hours: 1 }), 10);
  expect(Temporal.Instant.compare(due_at ?? "", clock.now())).toBe(1);
  await receiver.stop();
});
