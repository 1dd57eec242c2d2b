import { type Command, withDeps } from "./command.ts";

export const migrate: Command = {
  name: "migrate",
  summary: "Bring the transactional database up to date",
  help: `Usage: bun src/main.ts migrate

The server does this at its start, too. Instances that start together wait for one another.`,
  operands: 0,
  options: {},
  async run() {
    await withDeps(async ({ store }) => console.log(`The ${store.dialect} database is up to date`), {
      without_usage: true,
    });
  },
};
