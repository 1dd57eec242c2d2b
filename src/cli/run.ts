import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { CONFIG_FILE } from "../core/config_sources.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { hint } from "../core/nearest.ts";
import { PROGRAM } from "../core/program_files.ts";
import { versionLine } from "../core/version.ts";
import { type Arguments, type Command, optional } from "./command.ts";

/** Every command, loaded when it is named: a start of the server waits for no other. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  migrate: async () => (await import("./migrate.ts")).migrate,
  company: async () => (await import("./company.ts")).company,
  user: async () => (await import("./user.ts")).user,
  import: async () => (await import("./import.ts")).importCommand,
  export: async () => (await import("./export.ts")).exportCommand,
  search: async () => (await import("./search.ts")).search,
  job: async () => (await import("./job.ts")).job,
  collections: async () => (await import("./collections.ts")).collections,
  clock: async () => (await import("./clock.ts")).clock,
  backup: async () => (await import("./backup.ts")).backup,
  restore: async () => (await import("./restore.ts")).restore,
  openapi: async () => (await import("./openapi.ts")).openapi,
  erase: async () => (await import("./erase.ts")).erase,
  doctor: async () => (await import("./doctor.ts")).doctor,
  health: async () => (await import("./health.ts")).health,
  completion: async () => (await import("./completion.ts")).completion(loadAll),
};
const DEFAULT = "serve";

const loadAll = () => Promise.all(Object.values(COMMANDS).map((load) => load()));

async function help(): Promise<string> {
  const commands = await loadAll();
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `Meterhouse: billing, subscriptions and usage metering in one process

Usage: bun src/main.ts COMMAND [OPTIONS]

${lines.join("\n")}

COMMAND --help explains each, --version says which program this is. Settings are environment variables, or keys of the file of --config: docs/configuration.md lists them.`;
}

/** Help texts call the program as it is called from its sources. */
const print = (text: string) => console.log(text.replaceAll("bun src/main.ts", PROGRAM));

/** Runs the command that the words name, or the server. Errors: throws one line; exitCodeOf has its exit code. */
export async function runCommand(all: string[]): Promise<void> {
  const [first, ...rest] = all;
  if (first === "--help" || first === "-h" || first === "help") return print(await help());
  if (first === "--version" || first === "-v") return console.log(versionLine());
  const name = first === undefined || first.startsWith("-") ? DEFAULT : first;
  const words = name === first ? rest : all;
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!load)
    throw wrongWords(
      `No such command: ${name}${hint(name, Object.keys(COMMANDS))}; known are ${Object.keys(COMMANDS).join(", ")}`,
    );
  const command = await load();
  if (words.includes("--help") || words.includes("-h")) return print(helpOf(command));
  const read = readWords(command, words);
  const file = optional(read, "config");
  if (file !== undefined) process.env[CONFIG_FILE] = resolve(file);
  await command.run(read);
}

/** What every command takes, and what those take that talk to a server. */
const COMMON = { config: { type: "string" } } as const;
const REMOTE = { server: { type: "string" } } as const;

const COMMON_HELP = `
  --config FILE  settings in TOML, names in lower case; the environment comes first`;
const REMOTE_HELP = `
  --server URL   a server elsewhere, https; as the operator by OPERATOR_TOKEN, which the server has too`;

const helpOf = ({ help: text, remote }: Command) => `${text}\n${COMMON_HELP}${remote ? REMOTE_HELP : ""}`;

/** Errors: throws one line on an unknown option or a word too many. */
function readWords(command: Command, words: string[]): Arguments {
  const { name, operands } = command;
  const options = { ...command.options, ...COMMON, ...(command.remote ? REMOTE : {}) };
  const read = () => {
    try {
      return parseArgs({ args: words, options, allowPositionals: true });
    } catch (error) {
      // Node explains at length how else the option could be meant.
      throw wrongWords(String(error instanceof Error ? error.message : error).split(". ")[0] ?? "", error);
    }
  };
  const { values, positionals } = read();
  const surplus = positionals[operands];
  if (surplus !== undefined) throw wrongWords(`Unexpected word: ${surplus}; see ${name} --help`);
  return { values, positionals };
}
