import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { Nothing, strict } from "../../core/schema.ts";

/**
 * Writes the audit entry of an operator who accepted a refused usage store, with the reason of the refusal. The store
 * itself is accepted at its opening (link.ts).
 */
export const acceptUsage = operation({
  name: "accept_usage",
  permission: "usage:write",
  target: "usage_store",
  input: strict({ problem: Type.String() }),
  output: Nothing,
  run: ({ store }) => store.tx(async () => ({})),
});
