import type { Static, TSchema } from "@sinclair/typebox";
import { type Actor, type Permission, may } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { span } from "../core/trace.ts";
import { hasInstants, readInstants } from "../core/instants.ts";
import { listZones } from "../tenancy/companies/queries.ts";
import { readTx } from "./transaction.ts";
import { useReserve } from "../core/disk_reserve.ts";
import type { Outcome } from "./metrics.ts";
import type { Context, OperationMetadata } from "./context.ts";

/** One use case: metadata plus a handler. REST, MCP, jobs and the command line invoke it through `call`. */
export interface Operation<I extends TSchema, O extends TSchema> extends OperationMetadata {
  readonly input: I;
  readonly output: O;
  run(ctx: Context, input: Static<I>): Promise<Static<O>>;
}

/** Defines an operation: `operation({ name, permission, input, output, run })`. */
export function operation<I extends TSchema, O extends TSchema>(
  definition: Operation<I, O>,
): Operation<I, O> {
  return definition;
}

/**
 * Runs an operation for an actor: the one place that authorises, records, measures and traces. Callers have checked the
 * input against the operation's schema.
 * Errors: unauthorized, forbidden, and whatever the operation throws.
 */
export function call<I extends TSchema, O extends TSchema>(
  ctx: Context,
  called: Operation<I, O>,
  input: Static<I>,
): Promise<Static<O>> {
  return span(called.name, { attributes: { "meterhouse.origin": ctx.origin } }, () =>
    authoriseAndRun(ctx, called, input),
  );
}

async function authoriseAndRun<I extends TSchema, O extends TSchema>(
  ctx: Context,
  called: Operation<I, O>,
  input: Static<I>,
): Promise<Static<O>> {
  const recorded_input = withoutFields(input, called.withholds);
  try {
    authorise(ctx.actor, called.permission);
  } catch (error) {
    ctx.refused(ctx, called.name, recorded_input);
    throw error;
  }
  const started = performance.now();
  let outcome: Outcome = "failed";
  try {
    if (called.waits_for_clock) ctx.guards.checkClock();
    const passed = called.at_owner ? await ctx.pass_to_owner(ctx, called, input) : null;
    if (passed !== null) {
      outcome = "ok";
      return passed.output;
    }
    const read = hasInstants(called.input) ? await withInstants(ctx, called.input, input) : input;
    const run = () =>
      ctx.record(ctx, called, withoutFields(read, called.withholds), (recorded) =>
        called.run(recorded, read),
      );
    const output = await (ctx.guards.disk.is_low && usesReserve(called) ? useReserve(run) : run());
    outcome = "ok";
    return output;
  } catch (thrown) {
    const error = isAbort(ctx, thrown) ? new AppError("aborted", "The request was given up") : thrown;
    if (error instanceof AppError) outcome = "refused";
    if (error instanceof AppError && error.kind === "forbidden")
      ctx.refused(ctx, called.name, recorded_input);
    throw error;
  } finally {
    if (mayChangeLimits(called) && "company_id" in ctx.actor) ctx.limits.noteRecords(ctx.actor.company_id);
    const duration_ms = performance.now() - started;
    ctx.observe(called.name, outcome, duration_ms);
    ctx.log.debug({
      operation: called.name,
      outcome,
      duration_ms,
      origin: ctx.origin,
      request_id: ctx.request_id,
    });
  }
}

/** Whether an operation ended because its caller went away, which is no failure. */
function isAbort(ctx: Context, error: unknown): boolean {
  const stop = error instanceof AppError ? undefined : ctx.stop();
  return stop?.aborted === true && error === stop.reason;
}

/** The input with local times, months and words for windows as instants. Errors: invalid. */
function withInstants<I extends TSchema>(ctx: Context, schema: I, input: Static<I>): Promise<Static<I>> {
  return readInstants(schema, input, ctx.now, () => listZones(readTx(ctx)));
}

/** Whether a company may have other limits and alerts after it, of whatever kind it is: usage alone changes none. */
function mayChangeLimits({ permission, leaves_limits = false }: OperationMetadata): boolean {
  return permission.endsWith(":write") && permission !== "usage:write" && !leaves_limits;
}

/** Also what only reads may: its audit entry is all that it writes. */
function usesReserve({ permission, uses_reserve = false }: OperationMetadata): boolean {
  return uses_reserve || permission.endsWith(":read");
}

function withoutFields(input: unknown, fields: readonly string[] | undefined): unknown {
  if (fields === undefined || typeof input !== "object" || input === null) return input;
  return Object.fromEntries(Object.entries(input).filter(([name]) => !fields.includes(name)));
}

function authorise(actor: Actor, permission: Permission): void {
  if (may(actor, permission)) return;
  if (actor.kind === "anonymous") throw new AppError("unauthorized", "Sign in first: send a bearer token");
  throw new AppError("forbidden", `Your role does not allow this: it needs the permission ${permission}`);
}
