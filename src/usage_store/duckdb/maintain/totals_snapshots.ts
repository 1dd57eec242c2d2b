import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import type { DuckDBConnection } from "@duckdb/node-api";
import { insertMeta } from "../engine/meta.ts";
import { asText, query } from "../engine/sql.ts";
import { findEnd, findId, type IndexFile } from "../index/inventory.ts";
import { TotalsKeeper } from "../../running/keeper.ts";
import type { StoredTotals } from "../../running/stored_totals.ts";
import { readTotalsFile, writeTotalsFile } from "../../running/totals_file.ts";

/** The secret of the hashes of texts in totals. */
function totalsSecret(fingerprint_key: Uint8Array): string {
  return createHash("sha256").update("totals").update(fingerprint_key).digest("hex");
}

/** The row of usage_meta that every change of stored events replaces: totals from before are not theirs. */
const CHANGE = "totals_change";

/** Notes, within the open transaction, that what events count for has changed. */
export async function noteChange(connection: DuckDBConnection): Promise<void> {
  await connection.run(`DELETE FROM usage_meta WHERE name = '${CHANGE}'`);
  await insertMeta(connection, { [CHANGE]: crypto.randomUUID() });
}

async function lastChange(connection: DuckDBConnection): Promise<string> {
  const [[change = ""] = []] = await query(
    connection,
    `SELECT value FROM usage_meta WHERE name = '${CHANGE}'`,
  );
  return asText(change);
}

/** Reads the snapshot of the totals; nothing where it is not of this store's events. */
async function readTotalsSnapshot(
  connection: DuckDBConnection,
  { path, fingerprint_key }: IndexFile,
  onFailure: (error: unknown) => void,
): Promise<StoredTotals[]> {
  try {
    const stored = await readTotalsFile(
      path,
      async (stamp) =>
        stamp.secret === digestOf(fingerprint_key) &&
        stamp.change === (await lastChange(connection)) &&
        (stamp.last_seq === 0 || (await findId(connection, Number(stamp.last_seq))) === stamp.last_id),
    );
    return stored ?? [];
  } catch (cause) {
    onFailure(new Error(`Cannot use ${path}, the totals are counted instead`, { cause }));
    // Otherwise it might be accepted one day, when the store has events under its last number.
    await rm(path, { force: true });
    return [];
  }
}

function digestOf(fingerprint_key: Uint8Array): string {
  return createHash("sha256").update(fingerprint_key).digest("hex");
}

/** Writes the snapshot of the totals, once many events have come since the last one. */
export class TotalsSnapshots {
  readonly #file: IndexFile;
  readonly #totals: TotalsKeeper;
  readonly #snapshot_rows: number;
  #written_seq = 0;

  constructor(file: IndexFile, totals: TotalsKeeper, snapshot_rows: number) {
    this.#file = file;
    this.#totals = totals;
    this.#snapshot_rows = snapshot_rows;
  }

  /** Writes if enough events are new. */
  async write(connection: DuckDBConnection): Promise<void> {
    if (this.#totals.last_seq - this.#written_seq >= this.#snapshot_rows) await this.writeNow(connection);
  }

  /** Writes, unless nobody watches anything. No event's content may change meanwhile. */
  async writeNow(connection: DuckDBConnection): Promise<void> {
    if (!this.#totals.is_used) return;
    const { path, fingerprint_key } = this.#file;
    const change = await lastChange(connection);
    await writeTotalsFile(path, this.#totals.sections(), async () => {
      const { last_seq } = this.#totals;
      const end = last_seq === 0 ? { last_seq, last_id: "" } : await findEnd(connection, last_seq);
      return end && { secret: digestOf(fingerprint_key), change, ...end };
    });
    this.#written_seq = this.#totals.last_seq;
  }
}

/** Opens the totals of a store, with what the snapshot holds of them. */
export async function openTotals(
  connection: DuckDBConnection,
  last_seq: number,
  { snapshot_rows, file, on_failure }: OpeningTotals,
): Promise<{ totals: TotalsKeeper; totals_snapshots: TotalsSnapshots | undefined }> {
  const own = file && { ...file, path: `${file.path.replace(/\.ids$/, "")}.totals` };
  const stored =
    own &&
    (await readTotalsSnapshot(connection, own, (error) =>
      on_failure(error, "usage store: the snapshot of its totals can't be used"),
    ));
  const secret = totalsSecret(file?.fingerprint_key ?? crypto.getRandomValues(new Uint8Array(16)));
  const totals = new TotalsKeeper({
    last_seq,
    secret,
    stored: stored ?? [],
    read_events: snapshot_rows,
    onFailure: (error) =>
      on_failure(error, "usage store: totals could not be counted, it will be tried again"),
  });
  return {
    totals,
    totals_snapshots: own && new TotalsSnapshots(own, totals, snapshot_rows),
  };
}

interface OpeningTotals {
  /** New events at which the snapshot is rewritten. */
  snapshot_rows: number;
  /** The file of the index's snapshot, beside which that of the totals is. */
  file: IndexFile | undefined;
  on_failure: (error: unknown, message: string) => void;
}
