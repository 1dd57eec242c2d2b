import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { Nothing, strict } from "../../core/schema.ts";

/**
 * Tells in the audit log that the deployment's operator goes on with a usage store that lacks something, and why it
 * was refused before. It is taken where it is opened (link.ts).
 */
export const acceptUsage = operation({
  name: "accept_usage",
  permission: "usage:write",
  target: "usage_store",
  input: strict({ problem: Type.String() }),
  output: Nothing,
  run: ({ store }) => store.tx(async () => ({})),
});
