import type { Context } from "../app/context.ts";
import type { Deps } from "../app/deps.ts";
import { shareOf } from "../app/instances.ts";
import { type Actor, principalOf } from "../core/access.ts";
import { networkOf } from "../core/network.ts";
import { RateLimiter } from "../core/rate_limiter.ts";
import { addressOf, type ListeningServer } from "./address.ts";
import { LIMITS } from "./limits.ts";

/** Limits calls by network, for endpoints without sign-in. The function returned throws rate_limited. */
export function addressRateLimit({ config, instances }: Deps, limit: number): (ctx: Context) => void {
  if (!config.rate_limit_enabled) return () => undefined;
  const limiter = new RateLimiter(() => shareOf(instances, limit));
  return ({ address, now }) => limiter.consume(networkOf(address), now);
}

/** Counts a request towards the limit of its user or API key. Errors: rate_limited. */
export function countRequest({ config, request_limiter, clock }: Deps, actor: Actor): void {
  const principal = principalOf(actor);
  if (!config.rate_limit_enabled || principal === null) return;
  request_limiter.consume(`${principal.kind} ${principal.id}`, clock.now());
}

/** Counts an anonymous request against its network, if it is refused. Errors: rate_limited. */
export function watchAddress(deps: Deps, request: Request, server: ListeningServer | null): void {
  deps.refusals.watch(request, networkOf(addressOf(deps, request, server)), deps.clock.now());
}

/** Counts a request with a large body against its user or API key, if it is refused. Errors: rate_limited. */
export function watchLargeBody(deps: Deps, request: Request, actor: Actor): void {
  const principal = principalOf(actor);
  const content_length = request.headers.get("content-length");
  const is_large =
    content_length === null ? request.body !== null : Number(content_length) > LIMITS.refused_bytes;
  if (principal !== null && is_large)
    deps.refusals.watch(request, `${principal.kind} ${principal.id}`, deps.clock.now());
}
