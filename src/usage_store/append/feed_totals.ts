import type { TotalsKeeper } from "../running/keeper.ts";
import { usageOf } from "./append_request.ts";
import type { AppendDecision } from "./deduplicate.ts";

/** Adds a commit's new events to the running totals. To be called before anybody hears of the commit. */
export function feedTotals(
  totals: TotalsKeeper,
  decisions: readonly AppendDecision[],
  last_seq: number,
): void {
  for (const { request, fresh } of decisions) {
    const watched = totals.watchedOf(request.company_id);
    if (watched === undefined) continue;
    for (const position of fresh) {
      const event = request.events[position];
      const first = event && watched.get(event.subscription_id);
      if (first === undefined || event === undefined) continue;
      // Not by a spread, which takes longer than all the rest.
      const { timestamp, id, metadata } = event;
      totals.add(first, { timestamp, id, metadata, usage: usageOf(request, position) });
    }
  }
  totals.advance(last_seq);
}
