import { operation } from "../app/operation.ts";
import { retention } from "../app/retention.ts";
import { Nothing } from "../core/schema.ts";
import * as queries from "./queries.ts";
import { transaction } from "../app/transaction.ts";

/** Deletes expired Idempotency-Keys, in batches. Decision 0076. */
export const pruneIdempotencyKeys = retention({
  name: "prune_idempotency_keys",
  permission: "company:write",
  deletions: [queries.deleteExpired],
});

/** Releases the claims of a process that ended: at the start, on a store that only this one uses. Decision 0076. */
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
