import type { Context } from "../../app/context.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";

/** Errors: conflict while units of a feature are held. Decision 0236. */
export function refuseReserved({ limits, actor, now }: Context, feature_id: number, action: string): void {
  const { company_id } = scopeOf(actor);
  if (limits.isHeld(now.epochMilliseconds, { company_id, feature_id }))
    throw reservedError(feature_id, action);
}

/** What is refused while units of a feature are reserved. */
export function reservedError(feature_id: number, action: string): AppError {
  const reason = `units of feature ${feature_id} are reserved; free them, or wait for their end`;
  return new AppError("conflict", `${action}: ${reason}`);
}
