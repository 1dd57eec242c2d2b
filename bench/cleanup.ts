import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What must be undone at the end, however it comes: processes, files. DuckDB in this process is not closed
 * here, since closing it at work crashes the process: whoever opens it closes it.
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

  /** Makes a folder that goes with the rest. */
  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "meterhouse-bench-"));
    this.#folders.add(folder);
    this.add(() => {
      rmSync(folder, { recursive: true, force: true });
      this.#folders.delete(folder);
    });
    return folder;
  }

  /** Undoes everything, last first. Whoever calls again waits for the same. */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Cleans up before a signal ends the process, whatever the measurement makes of its server's end. */
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
