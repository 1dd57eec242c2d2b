/** The Worker of backups: the snapshot of SQLite's rows, hashes, encryption and uploads, beside the event loop. */
import { copySqlite } from "../store/copy.sqlite.ts";
import type { BackupObject } from "./manifest.ts";
import { storeObject } from "./objects.ts";
import { openTarget } from "./open_target.ts";
import { readFacts, type RowFacts } from "./row_queries.ts";

/** What the Worker is asked to do. */
export type Task =
  /** Copies a SQLite database, as it is at one instant, to a new file. */
  | { kind: "copy"; from: string; to: string }
  /** Reads what a copy holds. */
  | { kind: "facts"; path: string }
  /** Writes a file as an object. */
  | { kind: "store"; url: string; name: string; path: string; recipient: string | null };

export interface TaskResults {
  copy: null;
  facts: RowFacts;
  store: BackupObject;
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
  copySqlite(task.from, task.to);
  return null;
}
