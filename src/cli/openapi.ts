import { buildApp } from "../server/http_app.ts";
import { describe } from "../http/openapi.ts";
import { type Command, withDeps } from "./command.ts";

export const openapi: Command = {
  name: "openapi",
  summary: "Print the OpenAPI document",
  help: `Usage: bun src/main.ts openapi

Prints what a running server answers at /openapi.json. It opens no database and writes nothing.`,
  operands: 0,
  options: {},
  async run() {
    await withDeps(async (deps) => console.log(JSON.stringify(describe(buildApp(deps)), null, 2)), {
      without_stores: true,
    });
  },
};
