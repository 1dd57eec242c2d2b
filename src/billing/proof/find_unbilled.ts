import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { LIMITS } from "../limits.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { findDuePeriods } from "../runs/find_due.ts";
import { listZones } from "../subscriptions/queries.ts";

/** A subscription with a period that began before `before` and should be billed, and has no record; in words. */
export async function findUnbilled(ctx: Context, before: Temporal.Instant): Promise<string | undefined> {
  const tx = readTx(ctx);
  const zones = await listZones(tx);
  const problems: string[] = [];
  const progress = {
    count: () => undefined,
    fail: (id: number, _: unknown, message: string) => void problems.push(`subscription ${id}: ${message}`),
  };
  for (let after_id = 0; ; ) {
    const batch = await listBillable(tx, { ids: undefined, after_id, limit: LIMITS.billing_batch_periods });
    const last = batch.at(-1);
    if (last === undefined) return undefined;
    after_id = last.id;
    const due = await findDuePeriods({ ctx, progress }, batch, zones);
    const first = due.find(({ period }) => Temporal.Instant.compare(period.from, before) < 0);
    if (first)
      problems.push(
        `subscription ${first.subscription.id} has no bill of the period from ${first.period.from.toString()}`,
      );
    if (problems.length > 0) return problems[0];
    await Bun.sleep(LIMITS.billing_pause_ms);
  }
}
