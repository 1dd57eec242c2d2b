import type { Actor } from "../core/access.ts";
import type { Background } from "../core/background.ts";
import type { Config } from "../core/config.ts";
import type { RateLimiter } from "../core/rate_limiter.ts";
import type { Log } from "../core/log.ts";
import type { Metrics } from "./metrics.ts";
import type { Refusals } from "../core/rejection_limiter.ts";
import type { Secrets } from "../core/secret_box.ts";
import type { Clock } from "../core/time.ts";
import type { BlobStore } from "../store/blob_store.ts";
import type { UsageStore } from "../usage_store/port.ts";
import type { Reads, Store } from "../store/store.ts";
import type { Claim, KeyedRequest } from "./claim.ts";
import type { Guards } from "./guards.ts";
import type { InternalCalls } from "./internal_calls.ts";
import type { Instances } from "./instances.ts";
import type { LiveLimits } from "./live_limits.ts";
import type { Context, Origin } from "./context.ts";

/** The caller of an operation, and the interface. */
export interface Caller {
  actor: Actor;
  origin: Origin;
  request_id: string;
  /** The network address, if there is one. A function resolves it on demand: most calls do not need it. */
  address: string | null | (() => string | null);
  claim?: Claim | null;
  /** The signal that is aborted when the caller goes away: a function, since few calls ask for it. */
  stop?: () => AbortSignal | undefined;
}

/** Everything that is opened once and shared by all calls. */
export interface Deps {
  config: Config;
  log: Log;
  clock: Clock;
  metrics: Metrics;
  store: Store;
  usage: UsageStore;
  /** Totals and holds of limits, in memory. */
  limits: LiveLimits;
  /** The problem of the usage store that the operator accepted, if any. */
  accepted_usage: string | null;
  documents: BlobStore;
  guards: Guards;
  instances: Instances;
  /** What other instances may ask for; null without INSTANCE_URL. */
  internal: InternalCalls | null;
  request_limiter: RateLimiter;
  /** Encrypts secrets that the database holds. */
  secrets: Secrets;
  refusals: Refusals;
  /** Work that continues after its call; it ends before the stores close. */
  background: Background;
  /** The actor behind a REST token, read by `q`, default: committed rows. Errors: unauthorized. */
  authenticate(token: string, q?: Reads): Promise<Actor>;
  /** The actor behind the token of a browser's session, read by `q`, default: committed rows. Errors: unauthorized. */
  authenticateSession(token: string, q?: Reads): Promise<Actor>;
  /** The actor behind an OAuth access token. Errors: unauthorized. */
  authenticateAccessToken(token: string): Promise<Actor>;
  /** The claim of a request's Idempotency-Key, not yet acquired. */
  openClaim(request: KeyedRequest): Claim;
  /** The context of one call, at the current time. */
  openContext(caller: Caller): Context;
  /** Watches the disk and the clock from now on, and is one of the instances, until `close`. */
  watch(): Promise<void>;
  /** Gives up what other instances go on with, where there are any: what is asked here from then on is passed on. */
  leave(): Promise<void>;
  /** Closes everything, last opened first. */
  close(): Promise<void>;
}
