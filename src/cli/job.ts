import { Type } from "@sinclair/typebox";
import { AppError } from "../core/errors.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { Nothing, strict } from "../core/schema.ts";
import { JOBS } from "../server/jobs.ts";
import { action } from "../server/operator/action.ts";
import { runJob } from "../server/scheduler.ts";
import type { Command } from "./command.ts";
import { perform } from "./perform.ts";

export const runJobAction = action({
  name: "run_job",
  input: strict({ name: Type.String() }),
  output: Nothing,
  async run(deps, { name }) {
    const found = JOBS.find((candidate) => candidate.name === name);
    if (!found)
      throw wrongWords(`No such job: ${name}; known are ${JOBS.map((known) => known.name).join(", ")}`);
    const failures: string[] = [];
    const ran = await runJob(deps, found, (company_id, error) => {
      const message = error instanceof Error ? error.message : String(error);
      failures.push(company_id === null ? message : `company ${company_id}: ${message}`);
    });
    if (!ran) throw new AppError("conflict", `Cannot run ${name}: another instance is at it`);
    if (failures.length > 0) throw new Error(`${name} failed for ${failures.join("; ")}`);
    return {};
  },
});

export const job: Command = {
  name: "job",
  summary: "Run a job now, for every company",
  help: `Usage: bun src/main.ts job NAME

${JOBS.map(({ name, summary }) => `  ${name}  ${summary}`).join("\n")}

A running server does this by itself. Works beside a running server, which then does it.`,
  operands: 1,
  choices: JOBS.map(({ name }) => name),
  remote: true,
  options: {},
  async run(words) {
    const [name = ""] = words.positionals;
    await perform(words, runJobAction, { name }, `Running ${name}`);
    console.log(`Ran ${name}`);
  },
};
