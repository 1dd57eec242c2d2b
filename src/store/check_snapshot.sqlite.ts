import { Database } from "bun:sqlite";

/** How many damaged places are named. */
const PROBLEMS = 20;

/**
 * Checks a SQLite file that nobody uses: its pages, references between rows, and the number of rows by table. Returns
 * all rows that were counted, and what is wrong.
 */
export function checkSnapshot(
  path: string,
  counts: Readonly<Record<string, number>>,
): { rows: number; problems: string[] } {
  const database = new Database(path, { readonly: true });
  try {
    const problems = database
      .query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${PROBLEMS})`)
      .all()
      .flatMap(({ integrity_check: found }) => (found === "ok" ? [] : [found]));
    const broken = database.query("PRAGMA foreign_key_check").all().length;
    if (broken > 0) problems.push(`${broken} rows refer to rows that are not there`);
    let rows = 0;
    for (const [table, count] of Object.entries(counts)) {
      const sql = `SELECT count(*) AS n FROM "${table.replaceAll('"', '""')}"`;
      const found = database.query<{ n: number }, []>(sql).get()?.n ?? 0;
      rows += found;
      if (found !== count) problems.push(`${table} has ${found} rows; the manifest says ${count}`);
    }
    return { rows, problems };
  } finally {
    database.close();
  }
}
