import { join } from "node:path";

/** A file of the console as it is sent: packed once. */
interface ConsoleFile {
  media_type: string;
  gzipped: Uint8Array<ArrayBuffer>;
}

/** The console as browsers load it. */
export interface ConsoleBuild {
  /** Changes with any of its files: the hash of their names, which are hashes themselves. */
  id: string;
  script: string;
  stylesheet: string;
  /** What the script imports, and what that imports: a browser would find out one after the other. */
  imports: readonly string[];
  files: ReadonlyMap<string, ConsoleFile>;
}

const SOURCES = join(import.meta.dir, "..");
const MEDIA_TYPES: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

/** Builds the console from its sources: a chunk an area, names by content. Errors: throws what does not compile. */
export async function buildConsole(folder = SOURCES): Promise<ConsoleBuild> {
  const name = "[name]-[hash].[ext]";
  const { outputs } = await Bun.build({
    entrypoints: [join(folder, "main.tsx"), join(folder, "console.css")],
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    // Shared chunks take an entry's name otherwise.
    naming: { entry: name, chunk: "chunk-[hash].[ext]", asset: name },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const made = outputs.map(async (output) => {
    const path = output.path.replace(/^\.\//, "");
    return [path, packed(path, new Uint8Array(await output.arrayBuffer()))] as const;
  });
  return buildOf(new Map((await Promise.all(made)).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

function packed(name: string, content: Uint8Array<ArrayBuffer>): ConsoleFile {
  // Packed once and sent often: libdeflate's best is 2.5 % smaller than zlib's.
  const gzipped = Bun.gzipSync(content, { library: "libdeflate", level: 12 });
  return { media_type: mediaTypeOf(name), gzipped };
}

function mediaTypeOf(name: string): string {
  const media_type = MEDIA_TYPES[name.split(".").at(-1) ?? ""];
  if (media_type === undefined) throw new Error(`The console serves no files such as ${name}`);
  return media_type;
}

function buildOf(files: ReadonlyMap<string, ConsoleFile>): ConsoleBuild {
  const names = [...files.keys()];
  const named = (pattern: RegExp) => {
    const name = names.find((candidate) => pattern.test(candidate));
    if (name === undefined) throw new Error(`The console's build has no file ${pattern.source}`);
    return name;
  };
  const id = new Bun.CryptoHasher("sha256").update(names.join("\n")).digest("hex").slice(0, 16);
  const script = named(/^main-\w+\.js$/);
  return { id, script, stylesheet: named(/^console-\w+\.css$/), imports: importsOf(script, files), files };
}

/** A script's imports that a browser loads with it; `import()` loads when it is called. */
const STATIC = /(?:\bfrom|\bimport)"\.\/([\w.-]+\.js)"/g;

/** The scripts that a browser loads with a script of the build. */
export function importsOf(script: string, files: ConsoleBuild["files"]): string[] {
  const decoder = new TextDecoder();
  const found = new Set([script]);
  // A set goes on with what is added to it meanwhile.
  for (const name of found) {
    const { gzipped } = files.get(name) ?? {};
    if (gzipped === undefined) throw new Error(`The console's build has no file ${name}`);
    for (const [, imported = ""] of decoder.decode(Bun.gunzipSync(gzipped)).matchAll(STATIC))
      found.add(imported);
  }
  found.delete(script);
  return [...found];
}

/** A build as one text, which the executable carries. */
export function writeBuild({ files }: ConsoleBuild): string {
  const entries = [...files].map(([name, { gzipped }]) => [name, gzipped.toBase64()]);
  return JSON.stringify(Object.fromEntries(entries));
}

/** Reads what `writeBuild` wrote. */
export function readBuild(text: string): ConsoleBuild {
  const entries: [string, string][] = Object.entries(JSON.parse(text));
  const files = entries.map(([name, base64]) => {
    const gzipped = Uint8Array.fromBase64(base64);
    return [name, { media_type: mediaTypeOf(name), gzipped }] as const;
  });
  return buildOf(new Map(files));
}
