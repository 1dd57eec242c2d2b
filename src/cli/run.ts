import { parseArgs } from "node:util";
import { company } from "./company.ts";
import type { Command, Arguments } from "./command.ts";
import { doctor } from "./doctor.ts";
import { importCommand } from "./import.ts";
import { job } from "./job.ts";
import { migrate } from "./migrate.ts";
import { openapi } from "./openapi.ts";
import { serve } from "./serve.ts";
import { user } from "./user.ts";

const COMMANDS: readonly Command[] = [serve, migrate, company, user, importCommand, job, openapi, doctor];

function help(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `Meterhouse: billing, subscriptions and usage metering in one process

Usage: bun src/main.ts COMMAND [OPTIONS]

${lines.join("\n")}

COMMAND --help explains each. Settings are environment variables: docs/configuration.md lists them.`;
}

/** Runs the command that the words name, or the server. Errors: throws one line. */
export async function runCommand(all: string[]): Promise<void> {
  const [first, ...rest] = all;
  if (first === "--help" || first === "-h" || first === "help") return console.log(help());
  const name = first === undefined || first.startsWith("-") ? serve.name : first;
  const words = name === first ? rest : all;
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (!command)
    throw new Error(`No such command: ${name}; known are ${COMMANDS.map((known) => known.name).join(", ")}`);
  if (words.includes("--help") || words.includes("-h")) return console.log(command.help);
  await command.run(readWords(command, words));
}

/** Errors: throws one line on an unknown option or a word too many. */
function readWords({ name, options, operands }: Command, words: string[]): Arguments {
  const read = () => {
    try {
      return parseArgs({ args: words, options, allowPositionals: true });
    } catch (error) {
      // Node explains at length how else the option could be meant.
      throw new Error(String(error instanceof Error ? error.message : error).split(". ")[0], {
        cause: error,
      });
    }
  };
  const { values, positionals } = read();
  const surplus = positionals[operands];
  if (surplus !== undefined) throw new Error(`Unexpected word: ${surplus}; see ${name} --help`);
  return { values, positionals };
}
