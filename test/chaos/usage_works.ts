import { join } from "node:path";
import { expectEqual } from "./expect_equal.ts";
import { unlessGone, type Work } from "./work.ts";

const NDJSON = { "content-type": "application/x-ndjson" };
const SENDERS = 4;
/** What makes the store sort its events in the background. */
const BULK = 520_000;

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
      const lines = batch.events.map((event) => JSON.stringify(event)).join("\n");
      const answer = await unlessGone(world.api("POST", "/usage/events", lines, NDJSON));
      batch.answered = answer?.status === 201;
    },
    settle: (world) => world.usage.settle(),
  };
}

/** A file in a process of its own, which is killed: while the server is stopped, since it needs the store alone. */
const imports: Work = {
  name: "import",
  lasts_ms: 2_500,
  async command(world) {
    const batch = world.usage.makeBatch(world.roll, 30_000);
    const file = join(world.place.data_dir, `import-${crypto.randomUUID()}.ndjson`);
    await Bun.write(file, batch.events.map((event) => JSON.stringify(event)).join("\n"));
    return ["import", "usage", file, "--company", "1"];
  },
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
  searches,
];
