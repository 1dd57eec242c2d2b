import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../core/errors.ts";
import { decode } from "../core/validate.ts";
import type { FileFormat } from "../usage/import/file_head.ts";
import { type FileSource, ImportedBlock, KnownFile } from "../usage/import/model.ts";
import type { OutgoingBlock } from "../usage/import/outgoing_blocks.ts";
import { readSource } from "../usage/import/source.ts";
import {
  importFile,
  type ImportWork,
  once,
  prefetch,
  type StoredRows,
  warnOfRepeats,
} from "./import_work.ts";
import { refusalOf } from "./server_connection.ts";
import { postJson, type UsagePlace } from "./usage_place.ts";

/** How long a server that is gone or busy is waited for. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;

/**
 * Imports a file through a server: the file and its expressions are read here, sent are blocks of five columns. A block
 * that may have arrived or not is sent again, which changes nothing. Decision 0191.
 */
export async function importThrough(
  place: UsagePlace,
  work: ImportWork & { format: FileFormat; data_dir: string },
): Promise<void> {
  const { path, format, data_dir } = work;
  const folder = makeFolder(data_dir);
  try {
    await postJson(place, "/imports", { file: basename(path), format });
    await importFile(work, () => sendBlocks(place, work, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Among temporary files; in DATA_DIR where those may not be written, as in a container with a read-only root. */
function makeFolder(data_dir: string): string {
  const name = "meterhouse-import-";
  try {
    return mkdtempSync(join(tmpdir(), name));
  } catch (error) {
    if (existsSync(data_dir)) return mkdtempSync(join(data_dir, name));
    throw error;
  }
}

async function* sendBlocks(
  place: UsagePlace,
  { path, file }: ImportWork,
  folder: string,
): AsyncGenerator<StoredRows> {
  const source = once(async () => {
    const known = await recognize(place, path);
    warnOfRepeats(known);
    return known;
  });
  const prepare = async (block: OutgoingBlock) => ({
    block,
    origin: block.has_derived_ids ? originOf(await source(), block) : "",
  });
  for await (const { block, origin } of prefetch(file.readOutgoing(folder, source), prepare)) {
    const stored = await sendPatiently(place, block, origin);
    await rm(block.path);
    yield { ...stored, rows: block.rows, rejected: stored.rejected_rows.map((row) => named(block, row)) };
  }
}

/** The row by its number in the file, and with its own reason where the server saw it without values. */
function named({ first_row, problems }: OutgoingBlock, { row, reason }: { row: number; reason: string }) {
  return { row: first_row + row - 1, reason: problems.get(row) ?? reason };
}

/** Where the block's ids without one derive from, for the server's record. */
function originOf({ file_name, digest, bytes }: FileSource, { first_row, rows }: OutgoingBlock): string {
  const last_row = first_row + rows - 1;
  return `?${new URLSearchParams({ file_name, digest, bytes: String(bytes), rows: String(last_row) }).toString()}`;
}

async function recognize({ server, base }: UsagePlace, path: string): Promise<FileSource> {
  const answer = await server.send(`${base}/imports`);
  if (!answer.ok) throw await refusalOf(answer);
  const { data } = decode(Type.Object({ data: Type.Array(KnownFile) }), await answer.json());
  return readSource(path, basename(path), data);
}

type Sent = Static<typeof ImportedBlock>;

/** Errors: those of a refusal, or the last one when the server is gone or busy for a minute. */
async function sendPatiently(place: UsagePlace, block: OutgoingBlock, origin: string): Promise<Sent> {
  const give_up_ms = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await sendBlock(place, block, origin);
    } catch (error) {
      const pause_ms = pauseAfter(error);
      if (pause_ms === null || performance.now() + pause_ms > give_up_ms) throw error;
      await Bun.sleep(pause_ms);
    }
  }
}

/** Null where trying again is of no use. */
function pauseAfter(error: unknown): number | null {
  if (error instanceof Unreached) return PAUSE_MS;
  if (!(error instanceof AppError)) return null;
  const is_busy = error.kind === "rate_limited" || error.kind === "unavailable";
  return is_busy ? Math.min((error.retry_after_s ?? 1) * 1_000, PATIENCE_MS / 2) : null;
}

/** The server could not be reached, or broke off. */
class Unreached extends Error {}

async function sendBlock({ server, base }: UsagePlace, block: OutgoingBlock, origin: string): Promise<Sent> {
  const answer = await server
    .send(`${base}/import${origin}`, {
      method: "POST",
      headers: { "content-type": "application/vnd.apache.parquet" },
      body: await Bun.file(block.path).bytes(),
    })
    .catch((cause: unknown) => {
      throw new Unreached(cause instanceof Error ? cause.message : String(cause), { cause });
    });
  if (!answer.ok) throw await refusalOf(answer);
  const body: unknown = await answer.json().catch((cause: unknown) => {
    throw new Unreached(`The connection to ${server.name} broke off`, { cause });
  });
  return decode(Type.Object({ data: ImportedBlock }), body).data;
}
