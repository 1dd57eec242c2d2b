import type { Context } from "../../app/context.ts";
import { scopeOf } from "../../core/access.ts";
import * as queries from "./queries.ts";
import { externalIdsOf, type ReadEvents, readEvents } from "./validate_events.ts";

/** Reads events by the rules of ingest, against the subscriptions as they are now. */
export async function readAgainstStore(
  { store, actor, now }: Context,
  raws: readonly unknown[],
  limits: { usage_as_text: boolean; max_problems: number },
): Promise<ReadEvents> {
  const { company_id } = scopeOf(actor);
  // Not cached (decision 0021): a subscription made or ended a moment ago must count at once, on every instance.
  const subscriptions = await queries.findMeteredSubscriptions(
    store.read,
    company_id,
    externalIdsOf(company_id, raws),
  );
  return readEvents(raws, { company_id, now_ms: now.epochMilliseconds, subscriptions, ...limits });
}
