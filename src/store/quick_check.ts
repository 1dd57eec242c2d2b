import { Worker } from "node:worker_threads";
import { workerUrl } from "../core/program_files.ts";

/** What SQLite's quick_check finds wrong with a file: nothing, or its first problems. A Worker reads the whole file. */
export async function quickCheck(file: string): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  const worker = new Worker(workerUrl("store/quick_check_worker.ts"), { workerData: file });
  worker.once("message", resolve);
  worker.once("error", reject);
  worker.once("exit", () => reject(new Error(`The check of ${file} ended without a result`)));
  try {
    return await promise;
  } finally {
    await worker.terminate();
  }
}
