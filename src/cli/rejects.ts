import { rmSync } from "node:fs";

/** The side file of rejected rows, one JSON object a line; there is none when nothing is rejected. */
export class Rejects {
  readonly path: string;
  /** The first reason. */
  first = "";
  #writer: Bun.FileSink | undefined;

  constructor(path: string) {
    this.path = path;
    rmSync(path, { force: true });
  }

  async write(rejected: { reason: string; row?: number; line?: number }): Promise<void> {
    this.first ||= `${rejected.row === undefined ? `line ${rejected.line}` : `row ${rejected.row}`}: ${rejected.reason}`;
    this.#writer ??= Bun.file(this.path).writer();
    await this.#writer.write(`${JSON.stringify(rejected)}\n`);
  }

  async close(): Promise<void> {
    await this.#writer?.end();
  }
}
