import type { Static, TSchema } from "@sinclair/typebox";
import { type Actor, type Permission, may } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Outcome } from "../core/metrics.ts";

/** By which door a call came in. */
export type Origin = "rest" | "mcp" | "job" | "cli";

/** What every call knows, whatever the door. `now` is fixed for the whole call. */
export interface CallContext {
  actor: Actor;
  now: Temporal.Instant;
  origin: Origin;
  request_id: string;
  /** The caller's network address, where there is one. */
  address: string | null;
  log: Log;
  observe(operation: string, outcome: Outcome, duration_ms: number): void;
  /** Takes note of what an actor may not do. */
  refused(call: CallContext, operation: string, input: unknown): void;
}

/**
 * One thing that Meterhouse does, as data plus a function. REST routes, tools, jobs and the command line
 * are written over it by hand and reach it only through `call`.
 */
export interface Operation<C extends CallContext, I extends TSchema, O extends TSchema> {
  /** Verb and noun, `create_client`: the name in traces, metrics and the audit log. */
  readonly name: string;
  /** Data, because which tools an actor sees follows from it. */
  readonly permission: Permission;
  readonly input: I;
  readonly output: O;
  run(ctx: C, input: Static<I>): Promise<Static<O>>;
}

/**
 * Runs an operation for an actor: the one place that authorises, measures and traces. Inputs were checked
 * at the door they came through, against the operation's own schema.
 * Errors: unauthorized, forbidden, and whatever the operation throws.
 */
export async function call<C extends CallContext, I extends TSchema, O extends TSchema>(
  ctx: C,
  operation: Operation<C, I, O>,
  input: Static<I>,
): Promise<Static<O>> {
  try {
    authorise(ctx.actor, operation.permission);
  } catch (error) {
    ctx.refused(ctx, operation.name, input);
    throw error;
  }
  const started = performance.now();
  let outcome: Outcome = "failed";
  try {
    const output = await operation.run(ctx, input);
    outcome = "ok";
    return output;
  } catch (error) {
    if (error instanceof AppError) outcome = "refused";
    if (error instanceof AppError && error.kind === "forbidden") ctx.refused(ctx, operation.name, input);
    throw error;
  } finally {
    const duration_ms = performance.now() - started;
    ctx.observe(operation.name, outcome, duration_ms);
    ctx.log.debug({
      operation: operation.name,
      outcome,
      duration_ms,
      origin: ctx.origin,
      request_id: ctx.request_id,
    });
  }
}

function authorise(actor: Actor, permission: Permission): void {
  if (may(actor, permission)) return;
  if (actor.kind === "anonymous") throw new AppError("unauthorized", "Sign in first: send a bearer token");
  throw new AppError("forbidden", `Your role does not allow this: it needs the permission ${permission}`);
}
