import type { Context } from "../../app/context.ts";
import { transaction } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import type { CircuitBreaker } from "./circuit_breaker.ts";
import type { RunOptions } from "./pipeline.ts";
import type { Progress } from "./progress.ts";
import { updateRun } from "./queries.ts";

/** A billing run in progress: what it is to bill, and how far it is. */
export interface BillingJob extends RunOptions {
  readonly ctx: Context;
  readonly billing_run_id: number;
  /** "2026-11": the periods that start in that month. Undefined: every due one that has no record. */
  readonly period?: string | undefined;
  /**
   * The periods that ended, or whose last record was written, after this instant and whose records have not
   * counted all of their events.
   */
  readonly closed_since?: Temporal.Instant;
  /** Undefined: all of the company. */
  readonly subscription_ids?: readonly number[] | undefined;
  readonly progress: Progress;
  readonly breaker: CircuitBreaker;
  /** Whether a run that found nothing to do is deleted. */
  readonly discard_if_empty: boolean;
}

/** The fields that log entries about a run have. */
export function logFields({ ctx, billing_run_id, dry_run }: BillingJob) {
  return { request_id: ctx.request_id, scope: scopeOf(ctx.actor), billing_run_id, dry_run };
}

/** Another instance has ended the run: it took it for a dead one's, after a silence. */
export class RunEnded extends AppError {
  constructor() {
    super("conflict", "Another instance went on with this run: there was no sign of life of this one");
  }
}

/** Writes how far a run is, then lets requests have their turn. Errors: RunEnded. */
export async function saveProgress({ ctx, progress }: BillingJob): Promise<void> {
  if (!(await transaction(ctx, ({ q }) => updateRun(q, progress.snapshot())))) throw new RunEnded();
  await Bun.sleep(LIMITS.billing_pause_ms);
}
