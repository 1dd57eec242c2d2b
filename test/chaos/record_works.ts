import { sha256, upload } from "../loans/documents/fixtures.ts";
import { pick } from "../support/dice.ts";
import type { Json } from "../support/harness.ts";
import { until } from "../support/webhook_receiver.ts";
import { expectEqual } from "./expect_equal.ts";
import { unlessGone, type Work } from "./work.ts";
import type { World } from "./world.ts";

/** A request with a key of its own, and the id that it was answered. */
interface Keyed {
  path: string;
  body: Json;
  key: string;
  id: number | null;
}

/** Sends requests with Idempotency-Keys until the server is gone; afterwards sends each once more. */
function keyedWork(
  name: string,
  make: (world: World, n: number) => Pick<Keyed, "path" | "body">,
  check: (world: World, done: readonly Keyed[]) => Promise<void>,
): Work {
  const sent = new WeakMap<World, Keyed[]>();
  let made = 0;
  const post = (world: World, { path, body, key }: Keyed) =>
    world.api("POST", path, body, { "idempotency-key": key });
  /** The id that a repeat tells: of its answer, or of what was done before its answer could be stored. */
  const repeat = async (world: World, one: Keyed): Promise<number> => {
    let id: number | null = null;
    await until(
      async () => {
        const { status, body } = await post(world, one);
        if (status === 409 && /is in progress/.test(body.error)) return false;
        const [, done] =
          /was carried out \(\w+ (\d+)\), but its response was not stored/.exec(body.error ?? "") ?? [];
        if (done !== undefined && one.id !== null) throw new Error(`An answer was not kept: ${body.error}`);
        id = Number(done ?? body.data?.id ?? 0);
        return true;
      },
      `the key of ${JSON.stringify(one.body)}`,
    );
    return id ?? 0;
  };
  return {
    name,
    lasts_ms: 1_000,
    async run(world) {
      const own: Keyed[] = [];
      sent.set(world, own);
      const send = async () => {
        for (;;) {
          const one: Keyed = { ...make(world, ++made), key: crypto.randomUUID(), id: null };
          own.push(one);
          const answer = await unlessGone(post(world, one));
          if (answer === null) return;
          // What was refused was not done: it may be possible later.
          if (answer.status < 300) one.id = answer.body.data.id;
        }
      };
      await Promise.all([send(), send()]);
    },
    async settle(world) {
      const own = sent.get(world) ?? [];
      for (const one of own) {
        const id = await repeat(world, one);
        if (one.id !== null) expectEqual(id, one.id, `the repeat of ${JSON.stringify(one)}`);
        one.id = id;
      }
      await check(world, own);
    },
  };
}

const clients = keyedWork(
  "idempotency keys",
  (_, n) => ({ path: "/clients", body: { name: `Client ${n} ${crypto.randomUUID()}` } }),
  async (world, done) => {
    for (const { body, id } of done) {
      const found = await world.api("GET", `/clients?search=${encodeURIComponent(body.name)}`);
      const ids = found.body.data.map((client: Json) => client.id);
      expectEqual(ids, [id], `clients named ${body.name}`);
    }
  },
);

const HOUR_MS = 3_600_000;

const changes = keyedWork(
  "plan change",
  (world, n) => {
    const subscription_id = pick(world.roll, world.subscription_ids);
    const past = world.roll(3) > 0;
    // Each at an instant of its own, so that one that was made twice shows.
    const at = Date.now() + (past ? -world.roll(50 * 24) : 1 + world.roll(500)) * HOUR_MS + n;
    const body = {
      new_billing_model_id: pick(world.roll, world.models),
      effective_at: new Date(at).toISOString(),
    };
    return { path: `/subscriptions/${subscription_id}/billing-model-changes`, body };
  },
  async (world, done) => {
    for (const [path, own] of Map.groupBy(done, (one) => one.path)) {
      const listed: Json[] = (await world.api("GET", path)).body.data;
      for (const { body, id } of own) {
        const same = listed.filter(
          (change) =>
            change.effective_at === body.effective_at &&
            change.new_billing_model_id === body.new_billing_model_id,
        );
        const ids = same.map((change) => change.id);
        expectEqual(ids, id === 0 ? [] : [id], `changes like ${JSON.stringify(body)}`);
      }
    }
  },
);

const billing: Work = {
  name: "billing run",
  lasts_ms: 1_500,
  async prepare(world) {
    // Something new to bill each time.
    const batch = world.usage.makeBatch(world.roll, 300);
    await world.api("POST", "/usage/events", batch.events);
  },
  async run(world) {
    while (await runOnce(world)) continue;
  },
  async settle(world) {
    await world.usage.settle();
    for (const period of months(3)) await runBilling(world, period);
    const records: Json[] = [];
    for (let page = 1; ; page++) {
      const { body } = await world.api("GET", `/billing-records?limit=200&page=${page}`);
      records.push(...body.data);
      if (page >= body.meta.total_pages) break;
    }
    const periods = Map.groupBy(records, (one) => `${one.subscription_id} ${one.billingStartAt}`);
    for (const [period, own] of periods) {
      const sequences = own.map(({ sequence }) => sequence).toSorted((a, b) => a - b);
      expectEqual(
        sequences,
        own.map((_, i) => i),
        `the records of ${period}`,
      );
      expectEqual(own.filter(({ kind }) => kind === "period").length, 1, `first records of ${period}`);
    }
    // The newest, one by one: all of them are proved in the end.
    for (const { id } of records.toSorted((a, b) => b.id - a.id).slice(0, 12)) {
      const { body } = await world.api("GET", `/billing-records/${id}/verify`);
      expectEqual(body.data.matches, true, `the proof of bill ${id}`);
    }
  },
};

function months(count: number): string[] {
  const now = Temporal.Now.plainDateISO("UTC").toPlainYearMonth();
  return Array.from({ length: count }, (_, i) => now.subtract({ months: count - i }).toString());
}

async function runOnce(world: World): Promise<boolean> {
  const period = pick(world.roll, months(3));
  const batch = world.usage.makeBatch(world.roll, 50);
  const stored = await unlessGone(world.api("POST", "/usage/events", batch.events));
  batch.answered = stored?.status === 201;
  return (await unlessGone(world.api("POST", "/billing-runs", { period }))) !== null;
}

async function runBilling(world: World, period: string): Promise<void> {
  await until(
    async () => {
      const { status, body } = await world.api("POST", "/billing-runs", { period });
      return status === 200 && body.data.status === "finished" && body.data.counts.failed === 0;
    },
    `a billing run of ${period}`,
    30_000,
  );
}

/** Documents: what was answered has its bytes. */
const uploads: Work = (() => {
  const kept = new WeakMap<World, { answered: Map<number, string>; application_id: number; token: string }>();
  let n = 0;
  return {
    name: "upload",
    lasts_ms: 1_000,
    async prepare(world) {
      const application_id = await world.borrowing.apply();
      kept.set(world, { answered: new Map(), application_id, token: await world.borrowing.token() });
    },
    async run(world) {
      const own = kept.get(world);
      if (!own) return;
      for (;;) {
        const bytes = `%PDF-1.7\n${++n}\n${"x".repeat(world.roll(200_000))}\n%%EOF\n`;
        const answer = await unlessGone(upload(world.server, own.token, own.application_id, { bytes }));
        if (answer === null) return;
        if (answer.status === 201) own.answered.set(answer.body.data.id, sha256(bytes));
      }
    },
    async settle(world) {
      const own = kept.get(world);
      if (!own) return;
      const path = `/lender/applications/${own.application_id}/documents`;
      const listed: Json[] = (await world.borrowing.lender("GET", path)).body.data;
      const ids = new Set(listed.map(({ id }) => id));
      for (const id of own.answered.keys()) expectEqual(ids.has(id), true, `document ${id} in the list`);
      for (const { id, sha256: told } of listed) {
        const { body } = await world.borrowing.lender("GET", `/lender/documents/${id}/content`);
        expectEqual(sha256(body), told, `the bytes of document ${id}`);
        expectEqual(own.answered.get(id) ?? told, told, `the bytes that were sent as document ${id}`);
      }
    },
  };
})();

export const RECORD_WORKS: readonly Work[] = [clients, changes, billing, uploads];
