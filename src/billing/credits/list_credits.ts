import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { orNotFound } from "../../core/errors.ts";
import { pagedList } from "../../core/pagination.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { iso } from "../../core/time.ts";
import { findClient } from "../../tenancy/clients/queries.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import { LIMITS } from "../limits.ts";
import { listRecordedBounds } from "../records/queries.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { creditMonths, monthOf } from "./credit_months.ts";
import { type CreditRow, CreditRows, ListCredits } from "./model.ts";
import * as queries from "./queries.ts";
import { balanceOf, reached, runsOutOn, usedPercent } from "./rules.ts";

/**
 * Lists the running month's credits of all subscriptions on credit plans, those that have used most of theirs first,
 * with the day on which they run out if they are used as they were. Errors: not_found for a client that is none of the
 * company's; unavailable.
 */
export const listCredits = operation({
  name: "list_credits",
  permission: "subscriptions:read",
  input: ListCredits,
  output: CreditRows,
  async run(ctx, { page, limit, client_id, reached: threshold, sort = "-used_percent" }) {
    const tx = readTx(ctx);
    if (client_id !== undefined) orNotFound(await findClient(tx, client_id), "Client", client_id);
    const rows: CreditRow[] = [];
    const zones = await listZones(tx);
    for (let after_id = 0; ; ) {
      const batch = { after_id, limit: LIMITS.credits_batch, client_id };
      const ids = await queries.listCreditSubscriptions(tx, ctx.now, batch);
      const last = ids.at(-1);
      if (last === undefined) break;
      rows.push(...(await creditsOf(ctx, ids, zones)));
      after_id = last;
    }
    const wanted = rows.filter((row) => threshold === undefined || row.reached >= threshold);
    const sorted = wanted.toSorted(ORDERS[sort]);
    return pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, async ({ offset, limit: count }) => ({
      rows: sorted.slice(offset, offset + count),
      total: sorted.length,
    }));
  },
});

/** Those that never run out come last; ties go by id. */
const ORDERS: Record<"used_percent" | "-used_percent" | "runs_out_on" | "subscription_id", Order> = {
  used_percent: (a, b) => a.used_percent - b.used_percent || a.subscription_id - b.subscription_id,
  "-used_percent": (a, b) => b.used_percent - a.used_percent || a.subscription_id - b.subscription_id,
  runs_out_on: (a, b) => compareDays(a.runs_out_on, b.runs_out_on) || a.subscription_id - b.subscription_id,
  subscription_id: (a, b) => a.subscription_id - b.subscription_id,
};
type Order = (a: CreditRow, b: CreditRow) => number;

function compareDays(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b ? -1 : 1;
}

async function creditsOf(ctx: Context, ids: readonly number[], zones: ZoneTimeline): Promise<CreditRow[]> {
  const tx = readTx(ctx);
  const [subscriptions, recorded, names] = await Promise.all([
    listBillable(tx, { ids, limit: ids.length }),
    listRecordedBounds(tx, ids),
    queries.listCreditNames(tx, ids),
  ]);
  const months = subscriptions.map((one) => monthOf(one, ctx.now, zones, recorded.get(one.id)));
  const credits = await creditMonths(ctx, months);
  return months.flatMap(({ subscription, period }, i): CreditRow[] => {
    const { id, billing_model } = subscription;
    const { credit_plan } = billing_model;
    const named = names.get(id);
    const month = credits[i] ?? null;
    if (credit_plan === null || named === undefined) return [];
    const { id: subscription_id, ...of_subscription } = named;
    return [
      {
        subscription_id,
        ...of_subscription,
        ...balanceOf(billing_model, credit_plan, month),
        month_start: iso(period.from),
        month_end: iso(period.to),
        used_percent: month === null ? 0 : usedPercent(month),
        reached: month === null ? 0 : (reached(month).at(-1) ?? 0),
        runs_out_on: month === null ? null : runsOutOn(month, period, subscription, ctx.now),
      },
    ];
  });
}
