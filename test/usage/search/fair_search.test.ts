import { LIMITS } from "../../../src/usage/limits.ts";
import { beforeAll, expect, test } from "bun:test";
import { usageReaders } from "../../../src/server/open_usage.ts";
import { AppError } from "../../../src/core/errors.ts";
import { type Tenant, useService } from "../../support/harness.ts";
import { addSubscription, send } from "../fixtures.ts";

const HOLD_MS = 2_000;

const service = useService();
let other: Tenant;
let subscription_id: number;

beforeAll(async () => {
  other = await service.addTenant();
  ({ id: subscription_id } = await addSubscription(service, "ours"));
  await addSubscription(other, "theirs");
  expect((await send(other.api, { external_subscription_id: "theirs", usage: 7 })).status).toBe(201);
});

async function storeEvents(): Promise<void> {
  const events = Array.from({ length: 10_000 }, () => ({
    id: crypto.randomUUID(),
    subscription_id,
    timestamp: 1_760_000_000_000,
    timestamp_given: true,
    usage: "1",
    metadata: null,
  }));
  await service.deps.usage.append(service.company_id, events, 1_760_000_000_000);
}

/** Asks a question of the first company that runs until its time is up. What became of it. */
async function askForLong(): Promise<string> {
  const window = { subscription_id, start_ms: 0, end_ms: 1_800_000_000_000 };
  const windows = Array.from({ length: 5_000 }, () => window);
  try {
    await service.deps.usage.totals(service.company_id, windows, { timeout_ms: HOLD_MS });
    return "answered";
  } catch (error) {
    if (error instanceof AppError) return error.kind;
    throw error;
  }
}

test("a company that floods the search is refused itself; others are served, and /ready answers", async () => {
  await storeEvents();
  const flood = Promise.all(Array.from({ length: 120 }, askForLong));
  const own = await service.api("POST", "/usage/search", { limit: 1 });
  expect([own.status, own.headers.get("retry-after")]).toEqual([429, "1"]);
  const [theirs, totals, ready] = await Promise.all([
    other.api("POST", "/usage/search", { limit: 1 }),
    other.api("POST", "/usage/search", { aggregate: true }),
    service.anonymous("GET", "origin:/ready"),
  ]);
  expect([theirs.status, theirs.body.meta?.total]).toEqual([200, 1]);
  expect([totals.status, totals.body.data?.[0]?.total_usage]).toEqual([200, 7]);
  expect(ready.status).toBe(200);
  const kinds = await flood;
  // As many ran as there are readers but one, and a quarter of all that may wait did.
  const served = Math.max(1, usageReaders() - 1) + LIMITS.usage_readers_waiting / 4;
  expect(Object.groupBy(kinds, (kind) => kind).unavailable).toHaveLength(served);
  expect(Object.groupBy(kinds, (kind) => kind).rate_limited).toHaveLength(120 - served);
  expect((await service.api("POST", "/usage/search", { limit: 1 })).status).toBe(200);
});
