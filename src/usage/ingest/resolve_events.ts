import type { Context } from "../../app/context.ts";
import { scopeOf } from "../../core/access.ts";
import { findMeteredSubscriptions } from "./queries.ts";
import { externalIdsOf, type ReadEvents, readEvents } from "./validate_events.ts";

/** Resolves the events' subscriptions as they are now, and validates the events. */
export async function resolveEvents(
  { store, usage, actor, now }: Context,
  raws: readonly unknown[],
  limits: { usage_as_text: boolean; max_problems: number },
): Promise<ReadEvents> {
  const { company_id } = scopeOf(actor);
  // Not cached (decision 0021): a subscription made or ended a moment ago must count at once, on every instance.
  const external_ids = externalIdsOf(company_id, raws);
  const subscriptions = await findMeteredSubscriptions(store.read, company_id, external_ids);
  const since_ms = usage.sinceOf(company_id);
  return readEvents(raws, { company_id, now_ms: now.epochMilliseconds, since_ms, subscriptions, ...limits });
}
