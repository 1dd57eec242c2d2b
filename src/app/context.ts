import type { Actor, Permission } from "../core/access.ts";
import type { Background } from "../core/background.ts";
import type { Config } from "../core/config.ts";
import type { Log } from "../core/log.ts";
import type { Metrics } from "./metrics.ts";
import type { Secrets } from "../core/secret_box.ts";
import type { Clock } from "../core/time.ts";
import type { BlobStore } from "../store/blob_store.ts";
import type { Passwords } from "../core/passwords.ts";
import type { LiveLimits } from "./live_limits.ts";
import type { UsageStore } from "../usage_store/port.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "./claim.ts";
import type { Guards } from "./guards.ts";
import type { PassToOwner } from "./internal_calls.ts";
import type { Origin } from "./origin.ts";
import type { LoginGuard, Tokens } from "./credentials.ts";

export type { Origin } from "./origin.ts";

/** An operation's metadata, beside its schemas and handler. */
export interface OperationMetadata {
  /** Verb and noun, `create_client`: the name in traces, metrics and the audit log. */
  readonly name: string;
  /** Data, not code: it also decides which tools an actor sees. */
  readonly permission: Permission;
  /** The type of the record that it changes; default: its name without the verb. */
  readonly target?: string;
  /** It has no audit entry, because what it does is recorded elsewhere. Decision 0075. */
  readonly unaudited?: boolean;
  /** It writes money by what time it is: while the clock can't be trusted it is refused. Decision 0198. */
  readonly waits_for_clock?: boolean;
  /** It signs somebody in, closes access or frees room: it goes on while the disk is almost full. Decision 0197. */
  readonly uses_reserve?: boolean;
  /**
   * It goes by totals and holds in memory: the instance that stores the company's usage runs it. "only": no other does, also
   * while there is none. Decision 0375.
   */
  readonly at_owner?: true | "only";
  /** It runs often, and writes nothing that limits and alerts go by. Decision 0269. */
  readonly leaves_limits?: boolean;
  /** Fields of its input that no audit entry has: they may name a person. */
  readonly withholds?: readonly string[];
  /** It has an audit entry although it changes nothing, because it discloses much. */
  readonly audited?: boolean;
}

/** The record that an operation changes: `{type: "client", id: 7}`. */
export interface Target {
  type: string;
  id: number | null;
}

/** What an operation adds to its audit entry. */
export interface AuditDetails {
  /** The record that was changed, where it is not the one that the operation is named after. */
  target?: Target;
  /** The same record before and after: the entry holds the difference. */
  before?: object;
  after?: object;
  /** The company whose log it belongs to, if the actor has none. */
  company_id?: number;
}

/** Everything an operation can use: call metadata, stores and services. */
export interface Context {
  actor: Actor;
  /** Fixed for the whole call. */
  now: Temporal.Instant;
  /** The current time: for work that outlives its call. */
  clock: Clock;
  origin: Origin;
  request_id: string;
  /** The caller's network address, where there is one. */
  address: string | null;
  log: Log;
  config: Config;
  store: Store;
  /** The store without audit capture, for side effects that are not the operation's own change. */
  unaudited_store: Store;
  usage: UsageStore;
  /** Totals and holds of limits, in memory. */
  limits: LiveLimits;
  /** What holds work back while the disk is almost full, or the clock can't be trusted. */
  guards: Guards;
  /** The files of loan applications' documents. */
  documents: BlobStore;
  passwords: Passwords;
  tokens: Tokens;
  login_guard: LoginGuard;
  /** Encrypts secrets that the database holds. */
  secrets: Secrets;
  /** Tracks work that goes on after the call has returned. */
  background: Background;
  /** Says when nobody waits for the answer any more, where that is known: a question for usage ends then. */
  stop: () => AbortSignal | undefined;
  /** The claim of the request's Idempotency-Key, if it has one. */
  claim: Claim | null;
  pass_to_owner: PassToOwner;
  /** Adds to the audit entry of the current transaction. */
  annotateAudit: (note: AuditDetails) => void;
  /**
   * Runs an operation so that its audit entry is committed with its change. `run` gets the context that
   * does so.
   */
  record: <T>(
    ctx: Context,
    operation: OperationMetadata,
    input: unknown,
    run: (recorded: Context) => Promise<T>,
  ) => Promise<T>;
  /** Records that the actor may not do this. */
  refused: (ctx: Context, operation: string, input: unknown) => void;
  observe: Metrics["observeOperation"];
}
