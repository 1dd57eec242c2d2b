import { Type } from "@sinclair/typebox";
import type { Deps } from "../app/deps.ts";
import { type Config, readConfig, showSettings } from "../core/config.ts";
import { strict } from "../core/schema.ts";
import { openDeps, type OpenOptions } from "../server/open_deps.ts";
import { action } from "../server/operator/action.ts";
import { type Arguments, type Command, printTable } from "./command.ts";
import { check, examine, type Finding, type Question, type Stores } from "./examine.ts";
import { performAt } from "./perform.ts";
import { openProgress } from "./progress.ts";
import { findServer } from "./server_connection.ts";

export const examineAction = action({
  name: "examine",
  input: strict({ rebuild_sums: Type.Boolean(), read_documents: Type.Boolean() }),
  output: Type.Object({ findings: Type.Array(Type.Object({ ok: Type.Boolean(), text: Type.String() })) }),
  async run(deps, question) {
    const use = <T>(work: (opened: Deps) => Promise<T>) => work(deps);
    return { findings: await examine(deps.config, { useRecords: use, useAll: use }, question) };
  },
});

export const doctor: Command = {
  name: "doctor",
  summary: "Check configuration, stores, migrations, documents, disk and clock",
  help: `Usage: bun src/main.ts doctor [--rebuild-sums] [--read-documents] [--accept-usage]
       bun src/main.ts doctor --print-config

Prints one line for each check and exits with 1 when one fails. Where a server runs, it makes the checks.

  --rebuild-sums    makes the sums of usage by hour anew from the events first
  --read-documents  reads the files of all loan documents, instead of looking at their sizes
  --accept-usage    goes on with a usage store that starts refuse because it is another one than the database's, or
                    because one of them is older than the other: for when what belongs together is lost. Usage that
                    is missing is in no later bill; keys and numbers that were used are not given again
  --print-config    prints every setting of this process, secrets masked, and where its value comes from`,
  operands: 0,
  remote: true,
  options: {
    "print-config": { type: "boolean" },
    "rebuild-sums": { type: "boolean" },
    "read-documents": { type: "boolean" },
    "accept-usage": { type: "boolean" },
  },
  async run(words) {
    if (words.values["print-config"] === true) return printConfig();
    const findings = await findingsOf(words);
    for (const { ok, text } of findings) console.log(`${ok ? "ok  " : "FAIL"}  ${text}`);
    if (findings.some(({ ok }) => !ok)) throw new Error("Some checks failed");
  },
};

/** Errors: throws what can't be used, after everything is printed. */
function printConfig(): void {
  const rows = showSettings(process.env).map(({ name, value, source }) => ({
    setting: name,
    value: value ?? "-",
    from: source,
  }));
  printTable(rows, ["setting", "value", "from"]);
  readConfig(process.env);
}

async function findingsOf(words: Arguments): Promise<Finding[]> {
  const { values } = words;
  const question: Question = {
    rebuild_sums: values["rebuild-sums"] === true,
    read_documents: values["read-documents"] === true,
  };
  const configured = await check("configuration", async () => {
    readConfig(process.env);
    return "every setting can be used";
  });
  if (!configured.ok) return [configured];
  const server = await findServer(words);
  if (server === null) {
    const config = readConfig({ LOG_LEVEL: "warn", ...process.env });
    return [
      configured,
      ...(await examine(config, storesOf(config, values["accept-usage"] === true), question)),
    ];
  }
  const progress = openProgress("Checking");
  try {
    const { findings } = await performAt(server, examineAction, question, progress);
    return [configured, ...findings];
  } finally {
    progress.end();
  }
}

/** Opens the stores for each check: what keeps one from opening is the check's own finding. */
function storesOf(config: Config, accept_usage: boolean): Stores {
  const useWith =
    (options: OpenOptions) =>
    async <T>(work: (deps: Deps) => Promise<T>): Promise<T> => {
      const deps = await openDeps(config, options);
      try {
        return await work(deps);
      } finally {
        await deps.close();
      }
    };
  return { useRecords: useWith({ without_usage: true }), useAll: useWith({ accept_usage }) };
}
