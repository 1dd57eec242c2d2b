import { workerUrl } from "../core/program_files.ts";
import type { Task, TaskAnswer, TaskResults } from "./backup_worker.ts";

const LOOK_MS = 200;

/** Has the Worker do one task after the other. */
export class Assistant {
  /** By itself it would have the environment of the process's start. */
  readonly #worker = new Worker(workerUrl("backup/backup_worker.ts"), { env: environment() });
  readonly #isStopping: () => boolean;
  #last: Promise<unknown> = Promise.resolve();

  /** `isStopping` says whether the process is about to end: the task under way is given up then. */
  constructor(isStopping: () => boolean) {
    this.#isStopping = isStopping;
  }

  /** Errors: those of the task; throws when the process is about to end. */
  do<T extends Task>(task: T): Promise<TaskResults[T["kind"]]> {
    const done = this.#last.then(() => this.#ask(task));
    this.#last = done.catch(() => undefined);
    return done;
  }

  close(): void {
    this.#worker.terminate();
  }

  async #ask<T extends Task>(task: T): Promise<TaskResults[T["kind"]]> {
    const { promise, resolve, reject } = Promise.withResolvers<TaskAnswer>();
    const over = new AbortController();
    const { signal } = over;
    this.#worker.addEventListener("message", ({ data }: MessageEvent<TaskAnswer>) => resolve(data), {
      signal,
    });
    this.#worker.addEventListener("error", ({ message }) => reject(new Error(message)), { signal });
    const look = (): void => {
      if (this.#isStopping()) reject(new Error("The backup was given up: the service stops"));
    };
    const timer = setInterval(look, LOOK_MS);
    try {
      look();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origins
      this.#worker.postMessage(task);
      const answer = await promise;
      if ("error" in answer) throw new Error(answer.error);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what answers a task is that of its kind
      return answer.result as TaskResults[T["kind"]];
    } finally {
      clearInterval(timer);
      over.abort();
    }
  }
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
