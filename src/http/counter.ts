import type { Context } from "../context.ts";
import { MinuteLimiter } from "../core/limiter.ts";
import type { Deps } from "../deps.ts";

/** Counts calls by address: for doors where whoever calls is nobody yet. Errors: rate_limited. */
export function openCounter({ config }: Deps, limit: number): (ctx: Context) => void {
  if (!config.rate_limit_enabled) return () => undefined;
  const limiter = new MinuteLimiter(limit);
  return ({ address, now }) => limiter.take(String(address), now);
}
