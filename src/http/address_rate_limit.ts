import type { Context } from "../app/context.ts";
import type { Deps } from "../app/deps.ts";
import { RateLimiter } from "../core/rate_limiter.ts";
import { networkOf } from "../core/network.ts";

/** Counts calls by network: for doors where whoever calls is nobody yet. Errors: rate_limited. */
export function addressRateLimit({ config }: Deps, limit: number): (ctx: Context) => void {
  if (!config.rate_limit_enabled) return () => undefined;
  const limiter = new RateLimiter(limit);
  return ({ address, now }) => limiter.consume(networkOf(address), now);
}
