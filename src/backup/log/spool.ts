import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { syncPath } from "../../core/sync_path.ts";
import { LogBytes, LogRecord } from "./record.ts";

/** What is to be shipped as a record. */
const Draft = Type.Composite([
  Type.Pick(LogRecord, ["n", "kind", "instant", "usage_seq"]),
  Type.Object({ point: Type.String(), bytes: LogBytes }),
]);
export type Draft = Static<typeof Draft>;

/** How far the log is cut into drafts. */
export const Cut = Type.Object({
  /** Where drafts go. */
  url: Type.String(),
  point: Type.String(),
  /** The number of the last draft. */
  n: Type.Integer(),
  usage_seq: Type.Integer(),
  /** Up to which byte of the log that `position` is in. */
  to: Type.Integer(),
  /** The end of a commit that is known to be on disk. */
  position: Type.Object({
    sequence: Type.Integer(),
    salts: Type.String(),
    end: Type.Integer(),
    sums: Type.Tuple([Type.Integer(), Type.Integer()]),
  }),
});
export type Cut = Static<typeof Cut>;

const CUT = "cut.json";

/**
 * What was cut off the log and is not shipped yet, in a folder. A draft is there once `cut.json` counts it, with its
 * bytes on disk.
 */
export class Spool {
  readonly #folder: string;

  constructor(data_dir: string) {
    this.#folder = join(data_dir, "backup_log");
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** The file of a draft's bytes. */
  walOf(draft: Pick<Draft, "point" | "n">): string {
    return this.#pathOf(draft, "wal");
  }

  /** The file of a draft's base. */
  baseOf(draft: Pick<Draft, "point" | "n">): string {
    return this.#pathOf(draft, "sqlite");
  }

  /** A file for what is being shipped. */
  get scratch(): string {
    return join(this.#folder, "shipping");
  }

  /** The bytes of all that waits. */
  get size(): number {
    return this.#names().reduce((sum, name) => sum + statSync(join(this.#folder, name)).size, 0);
  }

  readCut(): Cut | null {
    return this.#read(CUT, Cut);
  }

  /** Counts drafts, whose bytes are on disk, and how far they reach. */
  async add(drafts: readonly Draft[], cut: Cut): Promise<void> {
    for (const draft of drafts) await this.#write(this.#nameOf(draft, "json"), draft);
    await this.#write(CUT, cut);
  }

  /** What is to be shipped, oldest first. */
  pending(): Draft[] {
    const cut = this.readCut();
    return this.#names()
      .filter((name) => name.endsWith(".json") && name !== CUT)
      .toSorted()
      .flatMap((name) => this.#read(name, Draft) ?? [])
      .filter(({ point, n }) => cut !== null && (point < cut.point || (point === cut.point && n <= cut.n)));
  }

  /** Forgets a draft. */
  remove(draft: Draft): void {
    for (const kind of ["json", "wal", "sqlite"]) rmSync(this.#pathOf(draft, kind), { force: true });
  }

  /** Forgets all. */
  clear(): void {
    for (const name of this.#names()) rmSync(join(this.#folder, name), { force: true });
  }

  #names(): string[] {
    return readdirSync(this.#folder);
  }

  #nameOf({ point, n }: Pick<Draft, "point" | "n">, kind: string): string {
    return `${point}-${String(n).padStart(8, "0")}.${kind}`;
  }

  #pathOf(draft: Pick<Draft, "point" | "n">, kind: string): string {
    return join(this.#folder, this.#nameOf(draft, kind));
  }

  #read<T extends typeof Cut | typeof Draft>(name: string, schema: T): Static<T> | null {
    try {
      const value: unknown = JSON.parse(readFileSync(join(this.#folder, name), "utf8"));
      return Value.Check(schema, value) ? value : null;
    } catch {
      // What a killed process left is no draft.
      return null;
    }
  }

  /** Writes a file as a whole or not at all, durably. */
  async #write(name: string, value: Draft | Cut): Promise<void> {
    const path = join(this.#folder, name);
    const file = await open(`${path}.new`, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify(value));
      await file.sync();
    } finally {
      await file.close();
    }
    renameSync(`${path}.new`, path);
    await syncPath(this.#folder);
  }
}
