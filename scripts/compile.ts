// `bun run compile` makes `meterhouse`, the program as one file for this machine, with all that it reads at run time:
// migrations, seed files, the documentation's page and DuckDB. `--outfile PATH` puts it elsewhere. Decision 0193.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import type { BunPlugin } from "bun";
import { buildConsole, writeBuild } from "../src/console/server/build.ts";
import type { PackedFile } from "../src/core/unpack.ts";
import { outputOf } from "./output_of.ts";

const ROOT = join(import.meta.dir, "..");
/** Where the executable's files are while it runs: `src/core/program_files.ts`. */
const INSIDE = "/$bunfs/root";
/** Higher ones take minutes and save 3 MB. */
const ZSTD_LEVEL = 6;

/** The folder of this machine's DuckDB, where its bindings are. */
function duckDbFolder(): string {
  const bindings = Bun.resolveSync(
    "@duckdb/node-bindings",
    dirname(Bun.resolveSync("@duckdb/node-api", ROOT)),
  );
  const { arch, platform } = process;
  return dirname(Bun.resolveSync(`@duckdb/node-bindings-${platform}-${arch}/duckdb.node`, dirname(bindings)));
}

/** Packs a file into the folder of what goes along, and says how to find and check it. */
function pack(path: string, name: string, assets: string): PackedFile {
  const content = readFileSync(path);
  mkdirSync(join(assets, "data", "libraries"), { recursive: true });
  const packed = join("data", "libraries", `${name}.zst`);
  writeFileSync(join(assets, packed), Bun.zstdCompressSync(content, { level: ZSTD_LEVEL }));
  const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
  return { name, packed: join(INSIDE, packed), bytes: content.length, sha256 };
}

/** The migrations as they are applied, without the snapshots that only `bun run migrations` reads. */
function copyMigrations(assets: string): void {
  for (const dialect of ["sqlite", "postgres"]) {
    const from = join("data", "migrations", dialect);
    const used = [...new Bun.Glob("*.sql").scanSync(join(ROOT, from)), "meta/_journal.json"];
    for (const file of used) cpSync(join(ROOT, from, file), join(assets, from, file), { recursive: true });
  }
}

/** DuckDB's library is loaded by the system's linker, which reads from disk alone. */
function unpackDuckDb(assets: string): BunPlugin {
  const folder = duckDbFolder();
  const library = process.platform === "darwin" ? "libduckdb.dylib" : "libduckdb.so";
  const files = [library, "duckdb.node"].map((name) => pack(join(folder, name), name, assets));
  return {
    name: "unpack DuckDB",
    setup(build) {
      const bindings: Record<string, unknown> = createRequire(import.meta.url)(join(folder, "duckdb.node"));
      const constants = Object.getOwnPropertyNames(bindings).map((name) => [name, bindings[name]]);
      const known = {
        __esModule: false,
        ...Object.fromEntries(constants.filter(([, value]) => typeof value !== "function")),
      };
      const standIn = join(ROOT, "src/usage_store/duckdb/engine/unpacked_bindings.ts");
      build.onLoad({ filter: /node-bindings\/duckdb\.js$/ }, () => ({
        loader: "js",
        contents: `module.exports = require(${JSON.stringify(standIn)}).unpackedBindings(${JSON.stringify(known)}, ${JSON.stringify(files)});`,
      }));
    },
  };
}

/** What git says; `unknown` where the sources are not in a repository. */
const git = (...words: string[]) => outputOf(["git", ...words], ROOT) ?? "unknown";

async function compile(outfile: string): Promise<void> {
  const assets = mkdtempSync(join(tmpdir(), "meterhouse-compile-"));
  try {
    copyMigrations(assets);
    writeFileSync(join(assets, "data", "console.json"), writeBuild(await buildConsole()));
    const workers = [...new Bun.Glob("src/**/*_worker.ts").scanSync(ROOT)].map((path) => join(ROOT, path));
    await Bun.build({
      entrypoints: [join(ROOT, "src/main.ts"), ...workers],
      root: join(ROOT, "src"),
      plugins: [unpackDuckDb(assets)],
      define: {
        BUILD_COMMIT: JSON.stringify(process.env.COMMIT ?? git("rev-parse", "--short", "HEAD")),
        BUILD_DATE: JSON.stringify(process.env.COMMIT_DATE ?? git("log", "-1", "--format=%cs")),
      },
      target: "bun",
      // What is loaded later is parsed later; files that Workers share are there once.
      splitting: true,
      // Parsed ahead: a start takes 0.1 s less, the file is 12 MB larger.
      bytecode: true,
      format: "esm",
      compile: { outfile, assets: [join(assets, "data")], autoloadBunfig: false },
    });
  } finally {
    rmSync(assets, { recursive: true, force: true });
  }
  console.log(`Made ${relative(process.cwd(), outfile)}, ${Math.round(statSync(outfile).size / 1e6)} MB`);
}

const { values } = parseArgs({ options: { outfile: { type: "string" } } });
await compile(values.outfile ?? join(ROOT, "meterhouse"));
