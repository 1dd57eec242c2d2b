import { join } from "node:path";
import { expectEqual } from "./expect_equal.ts";
import { until } from "../support/webhook_receiver.ts";
import { type Batch, USERS, userOf } from "./usage_ledger.ts";
import { unlessGone, type Work } from "./work.ts";
import type { World } from "./world.ts";

const NDJSON = { "content-type": "application/x-ndjson" };
const SENDERS = 4;
/** What makes the store sort its events in the background. */
const BULK = 520_000;

const sentLines = ({ events }: Batch) => events.map((event) => JSON.stringify(event)).join("\n");

/** Batches over HTTP, of one event to some hundred. */
const ingest: Work = {
  name: "ingest",
  lasts_ms: 1_500,
  async run(world) {
    const send = async () => {
      for (;;) {
        const batch = world.usage.makeBatch(world.roll, 1 + world.roll(200));
        const answer = await unlessGone(world.api("POST", "/usage/events", batch.events));
        if (answer === null) return;
        expectEqual(answer.status, 201, `the answer to a batch (${JSON.stringify(answer.body)})`);
        batch.answered = true;
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, send));
  },
  settle: (world) => world.usage.settle(),
};

/** One stream of lines. */
function streamOf(name: string, events: number, lasts_ms: number): Work {
  return {
    name,
    lasts_ms,
    async run(world) {
      const batch = world.usage.makeBatch(world.roll, events);
      const answer = await unlessGone(world.api("POST", "/usage/events", sentLines(batch), NDJSON));
      batch.answered = answer?.status === 201;
    },
    settle: (world) => world.usage.settle(),
  };
}

/** Writes a file of events, and the words that import it. */
async function importWords(world: World): Promise<string[]> {
  const batch = world.usage.makeBatch(world.roll, 30_000);
  const file = join(world.place.data_dir, `import-${crypto.randomUUID()}.ndjson`);
  await Bun.write(file, batch.events.map((event) => JSON.stringify(event)).join("\n"));
  return ["import", "usage", file, "--company", "1"];
}

/** An import in a process of its own, which is killed while the server is stopped. */
const imports: Work = {
  name: "import",
  lasts_ms: 2_500,
  command: importWords,
  settle: (world) => world.usage.settle(),
};

/** An import beside the server, which is killed in it. */
const importsBeside: Work = {
  name: "import beside a server",
  lasts_ms: 3_000,
  async run(world) {
    const words = ["bun", "src/main.ts", ...(await importWords(world))];
    const child = Bun.spawn(words, { env: world.env, stdout: "ignore", stderr: "ignore" });
    await child.exited;
  },
  settle: (world) => world.usage.settle(),
};

/** Erasures of what some users did: afterwards nothing of them is found, and all is still counted. */
const erasures: Work = {
  name: "erasure",
  lasts_ms: 1_500,
  async prepare(world) {
    const batch = world.usage.makeBatch(world.roll, 2_000);
    batch.answered = (await world.api("POST", "/usage/events", sentLines(batch), NDJSON)).status === 201;
  },
  async run(world) {
    // Few: each goes through all events, and what waits of them is settled afterwards.
    for (let i = 0; i < 4; i++) {
      const metadata = { user: userOf(world.roll(USERS)) };
      await unlessGone(world.api("POST", "/usage/erasures", { metadata }));
    }
  },
  async settle(world) {
    // Events that were not answered come again, with what they had.
    await world.usage.settle();
    const metadata = { user: userOf(world.roll(USERS)) };
    const { status } = await world.api("POST", "/usage/erasures", { metadata });
    expectEqual(status < 300, true, `the status ${status} of an erasure`);
    await until(
      async () => {
        const { body } = await world.api("GET", "/usage/erasures?limit=100");
        return body.data.every((one: { status: string }) => one.status === "done");
      },
      "erasures to be done",
      30_000,
    );
    const { body } = await world.api("POST", "/usage/search", { metadata, limit: 1 });
    expectEqual(body.meta.total, 0, `events of ${metadata.user}`);
    await world.usage.settle();
  },
};

/** The files written anew without what was erased, by a command that is killed. */
const rewriting: Work = {
  name: "rewriting",
  lasts_ms: 2_000,
  async prepare(world) {
    await world.api("POST", "/usage/erasures", { metadata: { user: userOf(world.roll(USERS)) } });
  },
  command: async () => ["erase", "--rewrite"],
  settle: (world) => world.usage.settle(),
};

/** Exports and sums while the server dies; afterwards an export has each event once. */
const searches: Work = {
  name: "export",
  lasts_ms: 1_500,
  async run(world) {
    for (;;) {
      const answers = await Promise.all([
        unlessGone(world.api("POST", "/usage/export", { format: "ndjson" })),
        unlessGone(world.api("POST", "/usage/search", { aggregate: true, group_by: "day" })),
      ]);
      if (answers.includes(null)) return;
    }
  },
  async settle(world) {
    await world.usage.settle();
    const { status, body } = await world.api("POST", "/usage/export", { format: "ndjson" });
    expectEqual(status, 200, "the status of an export");
    const ids = [...String(body).matchAll(/"id":"([0-9a-f-]{36})"/g)].map(([, id = ""]) => id);
    expectEqual(ids.length, world.usage.ids.length, "events in an export");
    expectEqual(new Set(ids).isSubsetOf(new Set(world.usage.ids)), true, "an export of what was sent");
  },
};

export const USAGE_WORKS: readonly Work[] = [
  ingest,
  streamOf("stream", 20_000, 1_000),
  streamOf("compaction", BULK, 8_000),
  imports,
  importsBeside,
  erasures,
  rewriting,
  searches,
];
