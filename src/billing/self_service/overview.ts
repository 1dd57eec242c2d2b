import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { iso } from "../../core/time.ts";
import { findSelfService } from "../../tenancy/companies/queries.ts";
import { balanceOf } from "../credits/rules.ts";
import { LIMITS } from "../limits.ts";
import { total } from "../rating/charges.ts";
import { creditMonth } from "../rating/credit_month.ts";
import { listRecords } from "../records/list_queries.ts";
import type { RatedPeriod } from "../runs/pipeline.ts";
import { rateOrLog } from "../runs/running_charges.ts";
import type { SubscriptionDetail } from "../subscriptions/detail.ts";
import { listSubscriptionDetails } from "../subscriptions/queries.ts";
import type { ClientOverview, RunningSubscription } from "./model.ts";

/** What the caller's client has running, its last bill, and what it may do. Errors: those of the usage store. */
export async function readOverview(ctx: Context): Promise<ClientOverview> {
  const tx = readTx(ctx);
  const slice = { offset: 0, limit: LIMITS.overview_subscriptions };
  const found = await listSubscriptionDetails(tx, { status: "active" }, slice);
  const ids = found.rows.map(({ id }) => id);
  const rated = ids.length === 0 ? [] : (await rateOrLog(ctx, ids, ctx.now)).done;
  const by_id = new Map(rated.map((period) => [period.subscription.id, period]));
  const subscriptions = found.rows.flatMap((row) => {
    const period = by_id.get(row.id);
    return period ? [runningOf(row, period)] : [];
  });
  const sums = Map.groupBy(subscriptions, ({ currency }) => currency);
  const { plans: _, ...self_service } = await findSelfService(tx);
  const last = await listRecords(tx, { sort: "-id" }, { offset: 0, limit: 1 });
  return {
    as_of: iso(ctx.now),
    totals: [...sums].map(([currency, rows]) => ({
      currency,
      total: total(
        rows.map((row) => ({ amount: row.total })),
        currency,
      ),
    })),
    subscriptions,
    subscriptions_total: found.total,
    last_bill: last.rows[0] ?? null,
    self_service,
  };
}

function runningOf(
  { id, name, external_subscription_id, billing_model }: SubscriptionDetail,
  { period, lines, used }: RatedPeriod,
): RunningSubscription {
  const { currency, credit_plan } = billing_model;
  return {
    id,
    name,
    external_subscription_id,
    plan: { id: billing_model.id, name: billing_model.name },
    from: iso(period.from),
    to: iso(period.to),
    currency,
    total: total(lines, currency),
    credits: credit_plan && balanceOf(billing_model, credit_plan, creditMonth(used, period)),
  };
}
