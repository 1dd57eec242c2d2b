/** The Worker of backups: the snapshot of SQLite's rows, hashes, encryption and uploads, beside the event loop. */
import { copyPages, copySqlite } from "../store/copy.sqlite.ts";
import { copyBytes } from "../store/copy_log.ts";
import { type LogPosition, walkLog } from "../store/log_walk.ts";
import type { BackupObject } from "./manifest.ts";
import { storeObject } from "./objects.ts";
import { openTarget } from "./open_target.ts";
import { documentsAfter, readFacts, type RowFacts } from "./row_queries.ts";

/** What the Worker is asked to do. */
export type Task =
  /** Copies a SQLite database, as it is at one instant, to a new file. */
  | { kind: "copy"; from: string; to: string }
  /** Reads what a copy holds. */
  | { kind: "facts"; path: string }
  /** Writes a file as an object. */
  | { kind: "store"; url: string; name: string; path: string; recipient: string | null }
  /** Copies a SQLite database, as it is at one instant, for its log to be replayed on. */
  | { kind: "base"; from: string; to: string }
  /** Finds the end of the last commit in SQLite's log. */
  | { kind: "walk"; path: string; from: LogPosition | null }
  /** Copies a part of SQLite's log. */
  | { kind: "bytes"; path: string; to: string; start: number; end: number }
  /** Lists the documents that were added since. */
  | { kind: "documents"; path: string; after: number };

export interface TaskResults {
  copy: null;
  facts: RowFacts;
  store: BackupObject;
  base: null;
  walk: LogPosition | null;
  bytes: null;
  documents: ReturnType<typeof documentsAfter>;
}

export type TaskAnswer = { result: TaskResults[Task["kind"]] } | { error: string };

declare const self: Worker;

self.addEventListener("message", ({ data }: MessageEvent<Task>) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origins
  void answer(data).then((found) => self.postMessage(found));
});

async function answer(task: Task): Promise<TaskAnswer> {
  try {
    return { result: await perform(task) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

async function perform(task: Task): Promise<TaskResults[Task["kind"]]> {
  if (task.kind === "store") {
    const { url, name, path, recipient } = task;
    return storeObject(openTarget(url), name, path, recipient);
  }
  if (task.kind === "facts") return readFacts(task.path);
  if (task.kind === "walk") return walkLog(task.path, task.from);
  if (task.kind === "documents") return documentsAfter(task.path, task.after);
  if (task.kind === "bytes") copyBytes(task.path, task.to, task.start, task.end);
  else if (task.kind === "base") copyPages(task.from, task.to);
  else copySqlite(task.from, task.to);
  return null;
}
