import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { TEST_STORE } from "../support/harness.ts";
import { testPostgres } from "../support/postgres.ts";
import { type Finished, run } from "../support/process.ts";

// What is wrong with the place is said in one line.

const is_root = process.getuid?.() === 0;
const NOBODY = 65_534;
const folder = mkdtempSync(join(tmpdir(), "meterhouse-place-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `migrate` as a user who owns nothing here; root becomes one once the sources are read. */
async function migrateAsNobody(data_dir: string): Promise<Finished> {
  const env = { PATH: process.env.PATH ?? "", DATA_DIR: data_dir };
  if (!is_root) return run(["migrate"], env);
  const script = `
    const { migrate } = await import("${import.meta.dir}/../../src/cli/migrate.ts");
    process.setgid(${NOBODY});
    process.setuid(${NOBODY});
    await migrate.run({ values: {}, positionals: [] }).catch((error) => {
      console.error(error.message);
      process.exit(error.exit_code ?? 1);
    });`;
  const child = Bun.spawn(["bun", "-e", script], { env, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, out, err };
}

function place(name: string, mode: number): string {
  const path = join(folder, name);
  mkdirSync(path);
  writeFileSync(join(path, "meterhouse.sqlite"), "");
  chmodSync(join(path, "meterhouse.sqlite"), mode & 0o666);
  chmodSync(path, mode);
  return path;
}

test("a folder that another user owns", async () => {
  const path = place("folder", 0o555);
  const { code, err } = await migrateAsNobody(path);
  expect([code, err.trim().split("\n")]).toEqual([
    78,
    [expect.stringMatching(new RegExp(`^Cannot use DATA_DIR ${path}: user \\d+ may not write ${path}`))],
  ]);
  expect(err).toContain("chown -R");
});

test("a file in it that another user owns", async () => {
  const path = place("file", 0o555);
  chmodSync(path, 0o777);
  const { code, err } = await migrateAsNobody(path);
  expect([code, err]).toEqual([78, expect.stringContaining(`may not write ${path}/meterhouse.sqlite`)]);
});

test.skipIf(TEST_STORE !== "postgres")("a role that may not create schemas on PostgreSQL", async () => {
  const url = await (await testPostgres()).createDatabase();
  const owner = postgres(url, { max: 1, onnotice: () => undefined });
  await owner.unsafe("CREATE ROLE guest LOGIN PASSWORD 'guest'");
  const guest = url.replace("postgres:postgres@", "guest:guest@");
  const { host, pathname } = new URL(url);
  const env = { PATH: process.env.PATH ?? "", DATA_DIR: join(folder, "pg"), DATABASE_URL: guest };
  const refused = await run(["migrate"], env);
  const database = pathname.slice(1);
  const grants = `GRANT CREATE ON DATABASE "${database}" TO "guest"; GRANT USAGE, CREATE ON SCHEMA public TO "guest";`;
  expect([refused.code, refused.err.trim()]).toEqual([
    78,
    `Cannot open PostgreSQL at ${host}/${database}: role guest may not create schemas and tables there; run as the database's owner: ${grants}`,
  ]);
  await owner.unsafe(grants);
  expect((await run(["migrate"], env)).code).toBe(0);
  await owner.end();
});
