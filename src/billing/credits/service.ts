import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { LIMITS } from "../limits.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import { ById, Nothing } from "../../core/schema.ts";
import { BillingModelChange } from "../billing_model_changes/model.ts";
import { listRecordedBounds } from "../records/queries.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { findSubscription, listZones } from "../subscriptions/queries.ts";
import { ChangePlan, Downgrade, CreditBalance, RecordedThresholds } from "./model.ts";
import { creditMonths, monthOf } from "./credit_months.ts";
import * as queries from "./queries.ts";
import { recordThresholds } from "./record_thresholds.ts";
import { downgrade, upgrade } from "./switch_plan.ts";
import { balanceOf, watchedInstants } from "./rules.ts";

/**
 * Finds a subscription's credits in its running billing month, by the same rule as its bill. Errors: not_found, for a
 * client user also when it is another client's; malformed when the subscription is not credit-based. Decision 0067.
 */
export const getCredits = operation({
  name: "get_credits",
  permission: "subscriptions:read",
  input: ById,
  output: CreditBalance,
  async run(ctx, { id }) {
    const tx = readTx(ctx);
    const { billing_model } = orNotFound(await findSubscription(tx, id), "Subscription", id);
    if (billing_model.credit_plan === null) {
      throw new AppError(
        "malformed",
        `Cannot tell the credits of subscription ${id}: its billing model is not credit-based`,
      );
    }
    const zones = await listZones(tx);
    const [billable] = await listBillable(tx, { ids: [id], limit: 1 });
    const recorded = (await listRecordedBounds(tx, [id])).get(id);
    const running = billable ? [monthOf(billable, tx.now, zones, recorded)] : [];
    const [month = null] = await creditMonths(ctx, running);
    return balanceOf(billing_model, billing_model.credit_plan, month);
  },
});

/**
 * Upgrades a subscription to a credit plan with more credits, at once: the difference is added to the running month,
 * prorated by the days left. A waiting downgrade is cancelled. Errors: not_found; invalid when the plan does not have
 * more credits or the timeline does not allow it. Decision 0067.
 */
export const upgradeSubscription = operation({
  name: "upgrade_subscription",
  permission: "subscriptions:write",
  target: "billing_model_change",
  input: ChangePlan,
  output: BillingModelChange,
  run: (ctx, { id, new_billing_model_id }) => upgrade(ctx, id, new_billing_model_id),
});

/**
 * Downgrades a subscription to a credit plan with fewer credits, from its next billing month on. Replaces a waiting
 * downgrade. Errors: not_found; invalid when the plan does not have fewer credits or the timeline does not allow it.
 * Decision 0067.
 */
export const downgradeSubscription = operation({
  name: "downgrade_subscription",
  permission: "subscriptions:write",
  target: "billing_model_change",
  input: Downgrade,
  output: BillingModelChange,
  run: (ctx, { id, new_billing_model_id }) => downgrade(ctx, id, new_billing_model_id),
});

/**
 * Records an event for every subscription that has used up 80 or 100 percent of its month's credits, once a month
 * each. May run twice at once. Decision 0068.
 */
export const tellThresholds = operation({
  name: "tell_thresholds",
  permission: "subscriptions:write",
  unaudited: true,
  input: Nothing,
  output: RecordedThresholds,
  async run(ctx) {
    const zones = await listZones(readTx(ctx));
    const [, since] = watchedInstants(ctx.now);
    let told = 0;
    let after_id = 0;
    while (!ctx.background.is_stopping) {
      const batch = { after_id, limit: LIMITS.credits_batch };
      const ids = await queries.listCreditSubscriptions(readTx(ctx), since, batch);
      const last = ids.at(-1);
      if (last === undefined) break;
      told += await recordThresholds(ctx, zones, ids);
      after_id = last;
    }
    return { told };
  },
});
