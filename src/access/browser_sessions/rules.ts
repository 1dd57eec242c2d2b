import { earlier } from "../../core/time.ts";
import { LIMITS } from "../limits.ts";

/** When a session was begun and last used. */
export interface SessionTimes {
  created_at: Temporal.Instant;
  last_used_at: Temporal.Instant;
}

/** The instants of a session's last use and beginning, at or before which it has ended. */
export function endedBy(now: Temporal.Instant): { unused: Temporal.Instant; begun: Temporal.Instant } {
  const { session_unused_hours, session_hours } = LIMITS;
  return {
    unused: now.subtract({ hours: session_unused_hours }),
    begun: now.subtract({ hours: session_hours }),
  };
}

/** When a session ends unless it is used before. */
export function expiryOf({ created_at, last_used_at }: SessionTimes): Temporal.Instant {
  const unused = last_used_at.add({ hours: LIMITS.session_unused_hours });
  return earlier(unused, created_at.add({ hours: LIMITS.session_hours }));
}

/** Whether the use of a session is to be written down: not with each request. */
export function isUseDue({ last_used_at }: SessionTimes, now: Temporal.Instant): boolean {
  return Temporal.Instant.compare(last_used_at, now.subtract({ minutes: LIMITS.session_used_minutes })) <= 0;
}
