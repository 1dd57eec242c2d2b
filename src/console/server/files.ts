import { readFileSync } from "node:fs";
import type { Log } from "../../core/log.ts";
import { programFile } from "../../core/program_files.ts";
import { buildConsole, type ConsoleBuild, readBuild } from "./build.ts";

/** The console's files of one process: those that the executable carries, or built from source when first needed. */
export class ConsoleFiles {
  readonly #log: Log;
  readonly #make: () => Promise<ConsoleBuild>;
  #made: Promise<ConsoleBuild | null> | undefined;
  #id: string | undefined;

  constructor(log: Log, make = Bun.isStandaloneExecutable ? readEmbedded : buildConsole) {
    this.#log = log;
    this.#make = make;
  }

  /** The build's id, once it is known. */
  get id(): string | undefined {
    return this.#id;
  }

  /** The build, made once; null where that failed: the rest of the service does without it. */
  load(): Promise<ConsoleBuild | null> {
    this.#made ??= this.#build();
    return this.#made;
  }

  async #build(): Promise<ConsoleBuild | null> {
    try {
      const build = await this.#make();
      this.#id = build.id;
      return build;
    } catch (error) {
      this.#log.error({ err: error }, "console: cannot be built, all else is served");
      return null;
    }
  }
}

async function readEmbedded(): Promise<ConsoleBuild> {
  return readBuild(readFileSync(programFile("data/console.json"), "utf8"));
}
