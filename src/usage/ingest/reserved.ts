import type { Context } from "../../app/context.ts";
import { AppError } from "../../core/errors.ts";
import type { NewEvent } from "../../usage_store/port.ts";

/** Why an event is refused. */
export const RESERVED_ELSEWHERE = "is a reservation of another subscription";

/**
 * The reservations that events settle, by their id; and the positions of events under another subscription's, which are
 * refused until it ends. Where nothing is reserved it costs nothing. Decision 0236.
 */
export function reservedBy(
  { limits, now }: Pick<Context, "limits" | "now">,
  company_id: number,
  events: readonly NewEvent[],
): { settled: string[]; foreign: Set<number> } {
  const settled: string[] = [];
  const foreign = new Set<number>();
  if (limits.count(company_id) === 0) return { settled, foreign };
  for (const [position, { id, subscription_id }] of events.entries()) {
    const hold = limits.find(company_id, id);
    if (hold === undefined) continue;
    if (hold.subscription_id === subscription_id) settled.push(id);
    else if (hold.expires_ms > now.epochMilliseconds) foreign.add(position);
  }
  return { settled, foreign };
}

/** The conflict of events, by their positions, that are under another subscription's reservations. */
export function reservedElsewhere(foreign: ReadonlySet<number>): AppError {
  const details = [...foreign].map((position) => ({ path: `/${position}/id`, message: RESERVED_ELSEWHERE }));
  const ids = details.length === 1 ? "an id is that" : `${details.length} ids are those`;
  const message = `Cannot store these events: ${ids} of a reservation of another subscription`;
  return new AppError("conflict", message, { details });
}
