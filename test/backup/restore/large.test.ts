import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { TEST_STORE } from "../../support/harness.ts";
import { testPostgres } from "../../support/postgres.ts";
import { runHere } from "../../support/process.ts";
import { openFullService } from "../full_service.ts";
import { makePoint } from "../made_point.ts";

/** How many bills more are restored into PostgreSQL; only where it is asked for. */
const BILLS = Number(process.env.RESTORED_BILLS ?? 0);

test.skipIf(BILLS === 0 || TEST_STORE === "postgres")(
  "many bills are restored into PostgreSQL",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "large-"));
    const { service } = await openFullService();
    try {
      const database = new Database(join(service.deps.config.data_dir, "meterhouse.sqlite"));
      const columns = database
        .query<{ name: string }, []>("SELECT name FROM pragma_table_info('billing_records')")
        .all()
        .map(({ name }) => name);
      const values = columns.map((name) =>
        name === "id" ? "1000 + n" : name === "sequence" ? "1000 + n" : `r."${name}"`,
      );
      database.run(`WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < ${BILLS})
        INSERT INTO billing_records (${columns.map((name) => `"${name}"`).join()})
        SELECT ${values.join()} FROM many JOIN billing_records r ON r.id = 1`);
      database.close();
      const from = `file://${folder}/backups`;
      const { counts } = await makePoint(service.deps, from);
      const url = await (await testPostgres()).createDatabase();
      const to = ["--to", join(folder, "restored"), "--to", url];
      const done = await runHere(["restore", "latest", ...to, "--from", from], {});
      expect([done.code, done.err]).toEqual([0, ""]);
      console.log(done.out);
      const sql = postgres(url, { max: 1 });
      const [found] = await sql`SELECT count(*)::int AS n, max(id)::int AS id FROM billing_records`;
      await sql.end();
      expect({ ...found }).toEqual({ n: counts.billing_records, id: BILLS + 1_000 });
    } finally {
      await service.stop();
      rmSync(folder, { recursive: true });
    }
  },
  3_600_000,
);
