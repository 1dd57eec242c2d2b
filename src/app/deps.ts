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
import type { Context, Origin } from "./context.ts";

/** Who calls, and through which interface. */
export interface Caller {
  actor: Actor;
  origin: Origin;
  request_id: string;
  /** The network address, where there is one; a function, because finding it costs more than most calls need. */
  address: string | null | (() => string | null);
  claim?: Claim | null;
}

/** Everything that is opened once and shared by all calls. */
export interface Deps {
  config: Config;
  log: Log;
  clock: Clock;
  metrics: Metrics;
  store: Store;
  usage: UsageStore;
  /** The problem with the usage store that the operator accepted, if any. */
  accepted_usage: string | null;
  documents: BlobStore;
  request_limiter: RateLimiter;
  /** Encrypts secrets that the database holds. */
  secrets: Secrets;
  refusals: Refusals;
  /** Work that outlives its call; it is stopped before the stores close. */
  background: Background;
  /** The actor behind a REST token, a user or a machine, also as a transaction sees it. Errors: unauthorized. */
  authenticate(token: string, q?: Reads): Promise<Actor>;
  /** The actor behind an OAuth access token. Errors: unauthorized. */
  authenticateAccessToken(token: string): Promise<Actor>;
  /** The claim of a request's Idempotency-Key, not yet taken. */
  openClaim(request: KeyedRequest): Claim;
  /** The context of one call, with its `now`. */
  openContext(caller: Caller): Context;
  /** Closes what was opened, last first. */
  close(): Promise<void>;
}
