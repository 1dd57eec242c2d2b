import { LIMITS } from "../limits.ts";
import type { ConnectorName, OrderAwaits, OrderKind } from "../scheme/connector.ts";

/** The step that a new order awaits, by its kind. */
export const FIRST_AWAITED: Record<OrderKind, OrderAwaits> = {
  enrolment: "authorization",
  amendment: "confirmation",
  termination: "confirmation",
  debit: "payment",
};

/** Status queries after the beginning of a step: at 5, 15 and 60 minutes, then each hour. */
const FIRST_MINUTES = [5, 15];
const HOUR_MS = 3_600_000;
/** The sandbox acts within five seconds of each step where the customer's name drives it. */
const SANDBOX_MS = 2_000;

/** The time of the next status query of an order; null after 48 hours. See docs/emandate.md#collection. */
export function nextQueryAt(
  connector: ConnectorName,
  awaits_since: Temporal.Instant,
  now: Temporal.Instant,
): Temporal.Instant | null {
  const passed = now.epochMilliseconds - awaits_since.epochMilliseconds;
  const early = [
    ...(connector === "sandbox" ? [SANDBOX_MS] : []),
    ...FIRST_MINUTES.map((minutes) => minutes * 60_000),
  ];
  const next = early.find((ms) => ms > passed) ?? Math.max(1, Math.floor(passed / HOUR_MS) + 1) * HOUR_MS;
  if (next > LIMITS.mandate_order_hours * HOUR_MS) return null;
  return awaits_since.add({ milliseconds: next });
}
