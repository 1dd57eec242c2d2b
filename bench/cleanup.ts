import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What must be undone when the process ends, for whatever reason: processes, files. DuckDB in this process is closed
 * by the code that opens it, since closing it while it works crashes the process.
 */
export class Cleanup {
  readonly #undo: (() => void | Promise<void>)[] = [];
  readonly #folders = new Set<string>();
  #running: Promise<void> | undefined;

  constructor() {
    // Libraries end the process on a signal too, maybe before the rest is undone.
    process.on("exit", () => {
      for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
    });
  }

  add(undo: () => void | Promise<void>): void {
    this.#undo.push(undo);
  }

  /** Makes a folder that is deleted at the end. */
  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "meterhouse-bench-"));
    this.#folders.add(folder);
    this.add(() => {
      rmSync(folder, { recursive: true, force: true });
      this.#folders.delete(folder);
    });
    return folder;
  }

  /** Undoes everything, last first. A second call waits for the first. */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Cleans up before a signal ends the process, even if the measurement fails when its server ends. */
  onSignals(): void {
    for (const [signal, code] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const) {
      // Each may come twice, from the terminal and from `bun run`: the second must not end the cleaning.
      process.on(signal, () => void this.run().finally(() => process.exit(code)));
    }
  }

  async #run(): Promise<void> {
    for (let undo = this.#undo.pop(); undo; undo = this.#undo.pop()) await undo();
  }
}
