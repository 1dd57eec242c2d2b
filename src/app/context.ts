import type { Static, TSchema } from "@sinclair/typebox";
import type { Background } from "../core/background.ts";
import type { Config } from "../core/config.ts";
import type { CallContext, Operation } from "./operation.ts";
import type { Secrets } from "../core/sealing.ts";
import type { Note } from "../features/audit/model.ts";
import { mayChange, telling, tellOfReading } from "../features/audit/telling.ts";
import type { Claim } from "../features/idempotency/claims.ts";
import type { DocumentFiles } from "../features/loan_documents/files.ts";
import type { LoginGuard } from "../features/sessions/login_guard.ts";
import type { Passwords } from "../features/sessions/passwords.ts";
import type { Tokens } from "../features/sessions/tokens.ts";
import type { UsageStore } from "../features/usage/store/usage_store.ts";
import type { Reads, Store } from "../store/store.ts";

/** What an operation may use: the call it serves, the two stores, and what signing in takes. */
export interface Context extends CallContext {
  store: Store;
  /** The same store for what is no part of the operation's own change: the audit log is told nothing of it. */
  untold: Store;
  usage: UsageStore;
  /** The files of loan applications' documents. */
  documents: DocumentFiles;
  config: Config;
  passwords: Passwords;
  tokens: Tokens;
  login_guard: LoginGuard;
  /** For secrets that the database keeps. */
  secrets: Secrets;
  /** For work that goes on after the call was answered. */
  background: Background;
  /** The request's hold on its Idempotency-Key, where it came with one. */
  claim: Claim | null;
  /** Tells the audit log more of a change, inside the transaction that makes it. */
  readonly note: (note: Note) => void;
}

/**
 * Defines an operation of this house: `operation({ name, permission, input, output, run })`. One that may change
 * records leaves an entry in the audit log with its first transaction: `target` says what it is done to, where its
 * name does not; `unaudited` is for those whose work is told elsewhere, `audited` for those that change nothing and
 * give much away. Decision 0075.
 */
export function operation<I extends TSchema, O extends TSchema>(definition: {
  name: Operation<Context, I, O>["name"];
  permission: Operation<Context, I, O>["permission"];
  target?: string;
  unaudited?: boolean;
  audited?: boolean;
  input: I;
  output: O;
  run(ctx: Context, input: Static<I>): Promise<Static<O>>;
}): Operation<Context, I, O> {
  if (!mayChange(definition.permission)) {
    if (definition.audited !== true) return definition;
    return {
      ...definition,
      async run(ctx, input) {
        const given = await definition.run(ctx, input);
        await tellOfReading(ctx, definition, input);
        return given;
      },
    };
  }
  return {
    ...definition,
    run: (ctx, input) => definition.run(telling(ctx, definition, input), input),
  };
}

/**
 * Work that time starts, for one company at a time. It does everything due by `ctx.now`, so that a missed
 * hour is made good by the next, and may run twice without harm.
 */
export interface Job {
  name: string;
  summary: string;
  /** A cron expression with seconds, read in UTC. */
  cron: string;
  /** Whether it also runs once when the service starts, for what fell due meanwhile. */
  runs_at_start?: boolean;
  /**
   * For what runs every second: the companies that have something to do, by one cheap query. Such a job takes no
   * lock, which would be a question to the database each second: instances may run it at once, and what it does is
   * guarded row by row.
   */
  due?(q: Reads, now: Temporal.Instant): Promise<number[]>;
  /**
   * For so many companies at once: it waits for others on the network, and one whose answers do not come must not keep
   * the next ones waiting. Without it companies go one by one.
   */
  at_once?: number;
  run(ctx: Context): Promise<void>;
}
