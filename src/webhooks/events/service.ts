import { operation } from "../../app/operation.ts";
import { retention } from "../../app/retention.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { paged } from "../../core/schema.ts";
import { Event, ListEvents } from "./model.ts";
import * as queries from "./queries.ts";
import { readTx } from "../../app/transaction.ts";

/** Lists the company's domain events, newest first. */
export const listEvents = operation({
  name: "list_events",
  permission: "events:read",
  input: ListEvents,
  output: paged(Event),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listEvents(readTx(ctx), filter, slice),
    ),
});

/** Deletes old events that were fanned out. Decision 0063. */
export const pruneEvents = retention({
  name: "prune_events",
  permission: "webhooks:write",
  deletions: [
    (tx, limit) => queries.deleteOldEvents(tx, tx.now.subtract({ hours: 24 * LIMITS.event_days }), limit),
  ],
});
