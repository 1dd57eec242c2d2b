import "./server/node_env.ts";
import { parseArgs } from "node:util";
import { company } from "./cli/company.ts";
import type { Command, Words } from "./cli/command.ts";
import { doctor } from "./cli/doctor.ts";
import { importCommand } from "./cli/import.ts";
import { job } from "./cli/job.ts";
import { migrate } from "./cli/migrate.ts";
import { openapi } from "./cli/openapi.ts";
import { serve } from "./cli/serve.ts";
import { user } from "./cli/user.ts";

const COMMANDS: readonly Command[] = [serve, migrate, company, user, importCommand, job, openapi, doctor];

function help(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `Meterhouse: billing, subscriptions and usage metering in one process

Usage: bun src/main.ts COMMAND [OPTIONS]

${lines.join("\n")}

COMMAND --help explains each. Settings are environment variables: docs/configuration.md lists them.`;
}

async function main([first, ...rest]: string[]): Promise<void> {
  if (first === "--help" || first === "-h" || first === "help") return console.log(help());
  const name = first === undefined || first.startsWith("-") ? serve.name : first;
  const words = name === first ? rest : process.argv.slice(2);
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (!command)
    throw new Error(`No such command: ${name}; known are ${COMMANDS.map((known) => known.name).join(", ")}`);
  if (words.includes("--help") || words.includes("-h")) return console.log(command.help);
  await command.run(readWords(command, words));
}

/** Errors: throws one line on an unknown option or a word too many. */
function readWords({ name, options, operands }: Command, words: string[]): Words {
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

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
