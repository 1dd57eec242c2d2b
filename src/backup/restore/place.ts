import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { wrongWords } from "../../core/exit_codes.ts";
import { clickHouseUrl } from "../../core/setting_values.ts";
import { RESTORE_MARKER, unfinishedRestore } from "../../core/restore_marker.ts";
import { syncPath } from "../../core/sync_path.ts";
import { assertEmptyStore } from "../../usage_store/clickhouse/maintain/load_store.ts";
import { isEmptyPostgres } from "../../store/empty.postgres.ts";

/** Where a point is restored to. */
export interface Place {
  readonly data_dir: string;
  /** A PostgreSQL database, if its rows go there. */
  readonly database_url: string | null;
  /** A database of ClickHouse, if its usage goes there. */
  readonly usage_url: string | null;
}

const KINDS = [
  ["database_url", /^postgres(ql)?:\/\//],
  ["usage_url", /^https?:\/\//],
] as const;

/**
 * Reads the values of `--to`: one folder, and at most one postgres:// address, and then at most one of ClickHouse.
 * Errors: wrong words.
 */
export function readPlace(values: readonly string[]): Place {
  const found = { data_dir: [] as string[], database_url: [] as string[], usage_url: [] as string[] };
  for (const value of values) found[KINDS.find(([, is]) => is.test(value))?.[0] ?? "data_dir"].push(value);
  const [data_dir] = found.data_dir;
  const is_one = Object.values(found).every(({ length }) => length <= 1);
  if (data_dir === undefined || !is_one || /^\w+:\/\//.test(data_dir)) {
    throw wrongWords(
      "--to takes one folder, and beside it a postgres:// address where records go there, and then an https:// address of ClickHouse where usage does",
    );
  }
  const {
    database_url: [database_url = null],
    usage_url: [usage_url = null],
  } = found;
  if (usage_url !== null && database_url === null)
    throw wrongWords("--to takes an address of ClickHouse only beside a postgres:// address");
  return { data_dir: resolve(data_dir), database_url, usage_url: usage_url && readUsageUrl(usage_url) };
}

function readUsageUrl(value: string): string {
  try {
    return clickHouseUrl(value);
  } catch (error) {
    throw wrongWords(`--to ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Takes an empty place for a restore: until `completePlace` the folder is marked as incomplete, and no server starts on
 * it. Errors: throws where anything is there.
 */
export async function claimPlace({ data_dir, database_url, usage_url }: Place, point: string): Promise<void> {
  mkdirSync(data_dir, { recursive: true, mode: 0o700 });
  const before = unfinishedRestore(data_dir);
  if (before !== undefined) {
    throw new Error(
      `Cannot restore into ${data_dir}: a restore of ${before} was cut off there, or is under way; delete the folder and begin again`,
    );
  }
  const [name] = readdirSync(data_dir).filter((entry) => entry !== "lost+found");
  if (name !== undefined) {
    throw new Error(`Cannot restore into ${data_dir}: it is not empty, there is ${name}`);
  }
  if (database_url !== null && !(await isEmptyPostgres(database_url))) {
    const { host, pathname } = new URL(database_url);
    throw new Error(`Cannot restore into PostgreSQL at ${host}${pathname}: the database is not empty`);
  }
  if (usage_url !== null) await assertEmptyStore(usage_url);
  writeFileSync(join(data_dir, RESTORE_MARKER), point, { mode: 0o600, flag: "wx" });
}

/** Takes the mark away once all is on disk. */
export async function completePlace({ data_dir }: Place): Promise<void> {
  await syncPath(data_dir);
  rmSync(join(data_dir, RESTORE_MARKER));
  await syncPath(data_dir);
}
