import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What must be undone at the end, however it comes: processes, files. */
export class Cleanup {
  readonly #undo: (() => void | Promise<void>)[] = [];

  add(undo: () => void | Promise<void>): void {
    this.#undo.push(undo);
  }

  /** Makes a folder that goes with the rest. */
  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "meterhouse-bench-"));
    this.add(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  /** Undoes everything, last first. A second call finds nothing left. */
  async run(): Promise<void> {
    for (let undo = this.#undo.pop(); undo; undo = this.#undo.pop()) await undo();
  }

  /** Cleans up before a signal ends the process. */
  onSignals(): void {
    for (const [signal, code] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const) {
      process.once(signal, () => void this.run().finally(() => process.exit(code)));
    }
  }
}
