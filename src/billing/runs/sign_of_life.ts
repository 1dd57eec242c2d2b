import { LIMITS } from "../limits.ts";
import { type BillingJob, logFields } from "./billing_job.ts";
import { touchRun } from "./queries.ts";

/** Does a run's work while its row says that it goes on: a lease, which ends by itself where the process dies. */
export async function whileAlive<T>(run: BillingJob, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void giveSign(run), LIMITS.billing_run_renew_ms);
  timer.unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Never fails: what keeps it from the database keeps the run from it too. */
async function giveSign(run: BillingJob): Promise<void> {
  const { ctx, billing_run_id } = run;
  await ctx.unaudited_store
    .tx((q) => touchRun(q, billing_run_id, ctx.clock.now()))
    .catch((error: unknown) =>
      ctx.log.debug({ err: error, ...logFields(run) }, "billing run: no sign of life"),
    );
}
