import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "../../src/store/sqlite.ts";

let template: Promise<Uint8Array> | undefined;

/** Writes a SQLite file that was migrated once: a hundredth of what migrating takes. */
export async function copyMigrated(path: string): Promise<void> {
  template ??= migrate();
  writeFileSync(path, await template);
}

/** Kept in memory: what a test file leaves on disk goes with it, and those after it want the same. */
async function migrate(): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-template-"));
  try {
    const path = join(folder, "meterhouse.sqlite");
    await (await openSqlite(path, {})).close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
