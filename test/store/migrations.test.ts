import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Migrations that databases may have been made with. A database remembers which it has, by their times: one that
 * is changed, renamed or written anew leaves it where it can't be opened. What is new goes into a new one.
 */
const PUBLISHED = {
  sqlite: {
    "0000_initial": "c816916e83c9387c5298d07b429c3a2c07b9c6f5b1050276ccb126db05020647",
    "0001_events": "bd5249210304606627a124a20256a7c7b71d3a7d379935a60d85ed4165e50bcf",
  },
  postgres: {
    "0000_initial": "4226b11a5c96c1e7865fc6269a07cd4994ccb0112360d31e02285111ba00aa4e",
    "0001_events": "7b5662eba43dbd4dfc748295061dc609eacf8877bd6939836630d73c1fb84e97",
  },
};

describe.each(Object.entries(PUBLISHED))("migrations for %s", (dialect, published) => {
  const folder = join(import.meta.dir, "../../data/migrations", dialect);
  const journal = JSON.parse(readFileSync(join(folder, "meta/_journal.json"), "utf8"));
  const entries: { tag: string; when: number }[] = journal.entries;

  test("those that were published stay as they are, and come first", () => {
    const digests = entries.slice(0, Object.keys(published).length).map(({ tag }) => {
      const sql = readFileSync(join(folder, `${tag}.sql`));
      return [tag, new Bun.CryptoHasher("sha256").update(sql).digest("hex")];
    });
    expect(Object.fromEntries(digests)).toEqual(published);
  });

  test("each is later than the one before, else a database would pass over it", () => {
    const times = entries.map(({ when }) => when);
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
  });
});
