import type { AppendResult, NewEvent, UsageStore } from "../../usage_store/port.ts";
import { refusedEvents } from "./sent_events.ts";
import type { Problem } from "./validate_events.ts";

/**
 * Stores the events except those that the store refuses: their id is stored with other content, or they may only
 * repeat and are new. `refused` lists these by position in `events`. Errors: unavailable when the commit fails; what
 * was stored before stays, and is a duplicate when sent again.
 */
export async function storeFresh(
  usage: UsageStore,
  company_id: number,
  events: readonly NewEvent[],
  now_ms: number,
): Promise<AppendResult & { refused: Problem[] }> {
  const refused: Problem[] = [];
  let remaining = events.map((event, position) => ({ event, position }));
  while (remaining.length > 0) {
    try {
      const stored = await usage.append(
        company_id,
        remaining.map(({ event }) => event),
        now_ms,
      );
      return { ...stored, refused };
    } catch (error) {
      // Those that are new and may only repeat are named first, conflicts in the next round.
      const named = new Map(refusedEvents(error).map((problem) => [problem.position, problem]));
      if (named.size === 0) throw error;
      remaining = remaining.filter(({ position }, index) => {
        const problem = named.get(index);
        if (problem !== undefined) refused.push({ ...problem, position });
        return problem === undefined;
      });
    }
  }
  return { accepted: 0, duplicates: 0, refused };
}
