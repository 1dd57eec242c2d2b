import { JOBS } from "../server/jobs.ts";
import { runJob } from "../server/scheduler.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { type Command, withDeps } from "./command.ts";

export const job: Command = {
  name: "job",
  summary: "Run a job now, for every company",
  help: `Usage: bun src/main.ts job NAME

${JOBS.map(({ name, summary }) => `  ${name}  ${summary}`).join("\n")}

A running server does this by itself; it must be stopped for a run by hand on the embedded usage store.`,
  operands: 1,
  options: {},
  async run({ positionals: [name] }) {
    const found = JOBS.find((candidate) => candidate.name === name);
    if (!found)
      throw wrongWords(`No such job: ${name ?? ""}; known are ${JOBS.map((known) => known.name).join(", ")}`);
    await withDeps(async (deps) => {
      if (!(await runJob(deps, found)))
        throw new Error(`Cannot run ${found.name}: another instance is at it`);
      console.log(`Ran ${found.name}`);
    });
  },
};
