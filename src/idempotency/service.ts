import { operation } from "../app/operation.ts";
import { retention } from "../app/retention.ts";
import { Nothing } from "../core/schema.ts";
import * as queries from "./queries.ts";
import { transaction } from "../app/transaction.ts";

/** Deletes the Idempotency-Keys that have expired, some at a time. Decision 0076. */
export const pruneIdempotencyKeys = retention({
  name: "prune_idempotency_keys",
  permission: "company:write",
  deletions: [queries.deleteExpired],
});

/**
 * Ends the claims of requests that nobody can be working on: after a start on a store that only this process
 * uses. Decision 0076.
 */
export const releaseIdempotencyKeys = operation({
  name: "release_idempotency_keys",
  permission: "company:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    await transaction(ctx, (tx) => queries.endClaims(tx));
    return {};
  },
});
