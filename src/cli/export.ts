import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { wrongWords } from "../core/exit_codes.ts";
import { EXPORT_FORMATS, type ExportFormat } from "../usage_store/port.ts";
import { type Arguments, type Command, optional } from "./command.ts";
import { openProgress } from "./progress.ts";
import { FILTER_HELP, FILTER_OPTIONS, filterOf } from "./usage_filters.ts";
import { postJson, withUsagePlace } from "./usage_place.ts";

export const exportCommand: Command = {
  name: "export",
  summary: "Export usage events to a CSV, NDJSON or Parquet file",
  help: `Usage: bun src/main.ts export usage FILE [OPTIONS]

${FILTER_HELP}
  --format FORMAT       ${EXPORT_FORMATS.join(", ")}; else by the file's name

FILE must not exist yet; it is there when all of it is. Works beside a running server; with --server as a user
(SERVER_TOKEN), or as the operator.`,
  operands: 2,
  remote: true,
  choices: ["usage"],
  options: { ...FILTER_OPTIONS, format: { type: "string" } },
  async run(words) {
    const [what, path] = words.positionals;
    if (what !== "usage" || path === undefined) throw wrongWords("Say `export usage FILE`");
    const format = formatOf(words, path);
    const query = { ...filterOf(words), format };
    if (existsSync(path)) throw wrongWords(`Cannot write ${path}: it is there already`);
    await withUsagePlace(words, async (place) => {
      const answer = await postJson(place, "/export", query);
      const bytes = await save(answer, path, `Exporting usage of ${place.whom} to ${path}`);
      console.log(`Wrote ${bytes} bytes to ${path}`);
    });
  },
};

function formatOf(words: Arguments, path: string): ExportFormat {
  const meant = optional(words, "format") ?? /\.([a-z]+)$/.exec(path.toLowerCase())?.[1];
  const format = EXPORT_FORMATS.find((known) => known === meant);
  if (format !== undefined) return format;
  throw wrongWords(`--format must be one of ${EXPORT_FORMATS.join(", ")}`);
}

/** Writes an answer aside, and moves it when all of it is there. Errors: throws when it breaks off. */
async function save({ body }: Response, path: string, title: string): Promise<number> {
  const part = `${path}.part`;
  const progress = openProgress(title);
  const file = await open(part, "w", 0o600);
  let bytes = 0;
  try {
    for await (const piece of body ?? []) {
      await file.write(piece);
      bytes += piece.byteLength;
      progress.progress(null, `${bytes} bytes`);
    }
    await file.sync();
    await rename(part, path);
    return bytes;
  } catch (error) {
    await rm(part, { force: true });
    throw new Error(`The export broke off after ${bytes} bytes: run it again`, { cause: error });
  } finally {
    progress.end();
    await file.close();
  }
}
