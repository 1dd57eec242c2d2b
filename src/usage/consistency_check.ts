import { type Static, Type } from "@sinclair/typebox";
import { operation } from "../app/operation.ts";
import { scopeOf } from "../core/access.ts";
import { LIMITS } from "./limits.ts";
import { strict } from "../core/schema.ts";

const CheckedUsage = Type.Object({
  hours: Type.Integer(),
  events: Type.Integer(),
  different: Type.Integer(),
});
export type CheckedUsage = Static<typeof CheckedUsage>;

/**
 * Compares the sums by hour, which searches read, with the company's events. `different` counts hours that are not the
 * sum of their events: any is a defect of the store. Errors: unavailable past the time limit.
 */
export const checkUsage = operation({
  name: "check_usage",
  permission: "usage:read",
  input: strict({}),
  output: CheckedUsage,
  run: ({ usage, actor }) => usage.check(scopeOf(actor).company_id, LIMITS.usage_check_ms),
});

/** The result of a check, in one line. */
export function describeSums({ hours, events, different }: CheckedUsage): string {
  if (different === 0) return `${hours} sums by hour agree with ${events} events`;
  return `${different} of ${hours} sums by hour are not those of the events; doctor --rebuild-sums rebuilds them`;
}
