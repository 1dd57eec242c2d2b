import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { prune } from "../../core/prune.ts";
import { Nothing } from "../../core/schema.ts";
import * as queries from "./queries.ts";

/** Deletes the Idempotency-Keys that have expired, some at a time. Decision 0076. */
export const pruneIdempotencyKeys = operation({
  name: "prune_idempotency_keys",
  permission: "company:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run({ store, actor, now, background }) {
    await prune(background, (limit) => store.tx((q) => queries.deleteExpired(q, scopeOf(actor), now, limit)));
    return {};
  },
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
  async run({ store, actor }) {
    await store.tx((q) => queries.endClaims(q, scopeOf(actor)));
    return {};
  },
});
