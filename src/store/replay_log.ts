import { Database } from "bun:sqlite";
import { appendFileSync, readFileSync, rmSync, statSync } from "node:fs";
import { walkLog } from "./log_walk.ts";
import { logProblem } from "./sqlite_log.ts";

/** A piece of SQLite's log: its bytes from `from` up to `to`, the end of a commit. */
export interface LogPiece {
  readonly sequence: number;
  readonly salts: string;
  readonly from: number;
  readonly to: number;
  /** The file of the bytes; null where there are none. */
  readonly path: string | null;
}

/**
 * Brings a copy of a database forward by the pieces of its log, in their order, each ending with a commit.
 * Errors: throws where a piece is missing or damaged; the copy is of no use then.
 */
export async function replayLog(database: string, pieces: readonly LogPiece[]): Promise<void> {
  const log = `${database}-wal`;
  rmSync(log, { force: true });
  let to = 0;
  for (const [i, piece] of pieces.entries()) {
    if (piece.from !== to)
      throw new Error(`The log is damaged: byte ${to} of log ${piece.sequence} is missing`);
    if (piece.path !== null) appendFileSync(log, readFileSync(piece.path), { mode: 0o600 });
    to = piece.to;
    const next = pieces[i + 1];
    if (next && next.salts === piece.salts) continue;
    if (next && next.sequence !== piece.sequence + 1)
      throw new Error(`The log is damaged: log ${next.sequence} follows log ${piece.sequence}`);
    await takeLog(database, log, piece);
    to = 0;
  }
  const replayed = new Database(database, { readwrite: true });
  // A single file, as a point's rows are.
  replayed.run("PRAGMA journal_mode = DELETE");
  replayed.close();
}

/** Takes one whole log over into the database. */
async function takeLog(database: string, log: string, { salts, to }: LogPiece): Promise<void> {
  const problem = await logProblem(log);
  const walked = walkLog(log, null);
  // SQLite would end it in silence where a sum is wrong.
  if (problem !== null || walked?.salts !== salts || walked.end !== to || statSync(log).size !== to)
    throw new Error(`The log is damaged: ${problem ?? `its commits do not end at byte ${to}`}`);
  const opened = new Database(database, { readwrite: true });
  try {
    const frames = opened.query("PRAGMA wal_checkpoint(FULL)").values()[0];
    if (frames?.[0] !== 0 || frames[1] !== frames[2] || Number(frames[1]) === 0)
      throw new Error(`The log could not be replayed: ${String(frames)}`);
  } finally {
    opened.close();
  }
  for (const suffix of ["-wal", "-shm"]) rmSync(database + suffix, { force: true });
}
