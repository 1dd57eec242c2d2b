import { type Command, withDeps } from "./command.ts";

export const migrate: Command = {
  name: "migrate",
  summary: "Bring the transactional database up to date",
  help: `Usage: bun src/main.ts migrate [--backed-up]

The server does this at its start, too. Instances that start together wait for one another.

A program that is older than the database demands ends with exit code 78. Before an upgrade after which the program
before can't use the database, SQLite's file is copied beside itself; PostgreSQL must be backed up:

  --backed-up   There is a fresh backup of the PostgreSQL database: go on`,
  operands: 0,
  options: { "backed-up": { type: "boolean" } },
  async run({ values }) {
    await withDeps(async ({ store }) => console.log(`The ${store.dialect} database is up to date`), {
      without_usage: true,
      backed_up: values["backed-up"] === true,
    });
  },
};
