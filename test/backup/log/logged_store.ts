import { Database } from "bun:sqlite";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LogShipping } from "../../../src/backup/log/ship_log.ts";
import { MANIFEST_FORMAT, type Manifest, manifestName } from "../../../src/backup/manifest.ts";
import { openTarget } from "../../../src/backup/open_target.ts";
import { piecesOf } from "../../../src/backup/target.ts";
import { iso, systemClock } from "../../../src/core/time.ts";
import { openSqlite } from "../../../src/store/sqlite.ts";
import type { Queries, Reads } from "../../../src/store/store.ts";
import { findLink, insertLink } from "../../../src/usage/store_link/queries.ts";
import { dice } from "../../support/dice.ts";

/** The changes of commit `k`: what is there after it depends on `k` alone. */
export function changesOf(k: number): string[] {
  return [
    `INSERT INTO counted (id, text, n) VALUES (${k}, '${String(k).repeat(1 + (k % 40) * 8)}', 0)`,
    `UPDATE counted SET n = n + ${k} WHERE id % 11 = ${k % 11}`,
    `DELETE FROM counted WHERE id % 7 = ${k % 7} AND id < ${k - 60}`,
  ];
}

const MAKE = "CREATE TABLE IF NOT EXISTS counted (id INTEGER PRIMARY KEY, text TEXT, n INTEGER)";
const ALL = "SELECT id, text, n FROM counted ORDER BY id";

const digestOf = (rows: unknown[][]) => Bun.hash(JSON.stringify(rows)).toString(16);

/** The rows after each commit, by themselves. */
export class Expected {
  readonly #database = new Database(":memory:");
  readonly #digests = new Map<number, string>();
  #k = 0;

  constructor() {
    this.#database.run(MAKE);
  }

  /** Their digest after commit `k`. */
  after(k: number): string | undefined {
    while (this.#k < k) {
      this.#k++;
      for (const sql of changesOf(this.#k)) this.#database.run(sql);
      this.#digests.set(this.#k, digestOf(this.#database.query(ALL).values()));
    }
    return this.#digests.get(k);
  }
}

/** What a database file holds: its last commit, and the digest of its rows. */
export function readCounted(path: string): { k: number; digest: string; integrity: unknown } {
  const database = new Database(path, { readonly: true });
  try {
    const rows = database.query(ALL).values();
    const integrity = database.query("PRAGMA integrity_check").values()[0]?.[0];
    const last = database.query("SELECT max(id) FROM counted").values()[0]?.[0];
    return { k: Number(last), digest: digestOf(rows), integrity };
  } finally {
    database.close();
  }
}

/** A point with nothing in it: its rows are not restored. */
async function writeEmptyPoint(read: Reads, url: string): Promise<string> {
  const instant = iso(systemClock.now());
  const object = { name: "rows/none", sha256: "0".repeat(64), size: 0, recipient: null };
  const manifest: Manifest = {
    format: MANIFEST_FORMAT,
    instant,
    program: "test",
    dialect: "sqlite",
    database_id: (await findLink(read))?.database_id ?? "",
    last_seq: 0,
    events: 0,
    digests: [],
    rows: object,
    counts: {},
    segments: [],
    documents: [],
  };
  await openTarget(url).write(manifestName(instant), piecesOf(JSON.stringify(manifest)));
  return instant;
}

interface LoggedOptions {
  data_dir: string;
  url: string;
  recipient?: string | null;
  log_bytes?: number;
  interval_ms?: number;
}

/** A SQLite store with numbered commits whose log is shipped; its usage events are numbers alone. */
export async function openLogged({
  data_dir,
  url,
  recipient = null,
  log_bytes = 100_000,
  interval_ms = 20,
}: LoggedOptions) {
  mkdirSync(data_dir, { recursive: true });
  const file = join(data_dir, "meterhouse.sqlite");
  const store = await openSqlite(file, {}, { ships_log: true });
  const { log } = store;
  if (!log) throw new Error("The log is not shipped");
  const run = (q: Queries, sql: string) => q.run(sql, [], false);
  await store.tx(async (q) => {
    await insertLink(q, systemClock.now(), crypto.randomUUID());
    await run(q, MAKE);
  });
  let k = Number((await store.read.run("SELECT coalesce(max(id), 0) FROM counted", [], false))[0]?.[0]);
  let last_point = "";
  const problems: string[] = [];
  const shipping = new LogShipping({
    log,
    data_dir,
    recipient,
    log_bytes,
    interval_ms,
    clock: systemClock,
    target: openTarget(url),
    read: store.read,
    // The events of a commit are stored before it.
    usage: {
      lastSeq: async () => k + 1,
      exportSegment: async (path, { from, to }) => {
        writeFileSync(path, `${from}-${to}`);
        return { to, events: to - from };
      },
    },
    documents: { fileOf: async () => null },
    messages: {
      info: () => undefined,
      warn: ({ err }: { err: Error }) => void problems.push(err.message),
    },
    takePoint: async () => (last_point = await writeEmptyPoint(store.read, url)),
    lastPoint: async () => last_point,
  });
  return {
    store,
    log,
    shipping,
    problems,
    /** Commits the next change; returns its number. */
    async commit(): Promise<number> {
      const next = k + 1;
      await store.tx(async (q) => {
        for (const sql of changesOf(next)) await run(q, sql);
      });
      return (k = next);
    },
    /** Writes more than SQLite keeps in memory, and undoes it: the log is left with frames of no commit. */
    async undo(): Promise<void> {
      const work = store.tx(async (q) => {
        await run(q, "INSERT INTO counted (id, text) VALUES (-1, hex(randomblob(2000000)))");
        throw new Error("undone");
      });
      await work.catch(() => undefined);
    },
    takePoint: async () => (last_point = await writeEmptyPoint(store.read, url)),
    async close(): Promise<void> {
      await shipping.stop();
      await store.close();
    },
  };
}

/** A process that commits and ships until it is killed; it writes down when each commit began and was answered. */
async function live(data_dir: string, url: string, journal: string, seed: number): Promise<never> {
  const logged = await openLogged({ data_dir, url });
  const roll = dice(seed);
  logged.shipping.start();
  console.log("lives");
  for (;;) {
    const began_ms = Date.now();
    appendFileSync(journal, `began ${began_ms}\n`);
    const k = await logged.commit();
    appendFileSync(journal, `${k} ${began_ms} ${Date.now()}\n`);
    if (roll(60) === 0) await logged.undo();
    await Bun.sleep(roll(4));
  }
}

if (import.meta.main) {
  const [data_dir = "", url = "", journal = "", seed = ""] = process.argv.slice(2);
  await live(data_dir, url, journal, Number(seed));
}
