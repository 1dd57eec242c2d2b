import { operation } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { invalid } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed } from "../../core/schema.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { unbilledPeriods } from "./due_periods.ts";
import { findBillingModel } from "../billing_models/queries.ts";
import { checkClient } from "../billing_models/rules.ts";
import { findClient } from "../../tenancy/clients/queries.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { findProduct } from "../products/queries.ts";
import { CreatedSubscription, SubscriptionDetail } from "./detail.ts";
import { CancelSubscription, CreateSubscription, ListSubscriptions, UpdateSubscription } from "./model.ts";
import * as queries from "./queries.ts";
import { cancel, detailOf } from "./cancel.ts";
import { subscriptionEvent, monotonicNow } from "./rules.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists subscriptions with their relations by id, ended ones too; whole when no page is asked for. */
export const listSubscriptions = operation({
  name: "list_subscriptions",
  permission: "subscriptions:read",
  input: ListSubscriptions,
  output: listed(SubscriptionDetail),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listSubscriptionDetails(readTx(ctx), filter, slice)),
});

/** Finds one subscription with its relations. Errors: not_found, for a client user also when it is another client's. */
export const getSubscription = operation({
  name: "get_subscription",
  permission: "subscriptions:read",
  input: ById,
  output: SubscriptionDetail,
  run: (ctx, { id }) => detailOf(readTx(ctx), id),
});

/**
 * Creates a subscription, past or future. `past_periods` is the number of periods that have ended already and will be
 * billed. Errors: invalid (an unknown relation, an external id in use, a start too far ahead or back). Decision 0013.
 */
export const createSubscription = operation({
  name: "create_subscription",
  permission: "subscriptions:write",
  input: CreateSubscription,
  output: CreatedSubscription,
  async run(ctx, { started_at, billing_anchor_day = 1, trial_days = null, ...input }) {
    const subscription = {
      ...input,
      billing_anchor_day,
      trial_days,
      started_at: startOf(started_at, ctx.now),
    };
    return transaction(ctx, async (tx) => {
      await checkRelations(tx, input);
      const id = await queries.insertSubscription(tx, subscription);
      const created = await detailOf(tx, id);
      await recordEvents(tx, [subscriptionEvent("subscription.created", created)]);
      const past = unbilledPeriods(created, await queries.listZones(tx), NOTHING_RECORDED, ctx.now, NO_GRACE);
      return { ...created, past_periods: past.due.length };
    });
  },
});

const NOTHING_RECORDED = { bounds: [], is_gapless: true };
const NO_GRACE = new Temporal.Duration();

/** Renames a subscription. Errors: not_found. */
export const updateSubscription = operation({
  name: "update_subscription",
  permission: "subscriptions:write",
  input: UpdateSubscription,
  output: SubscriptionDetail,
  run: (ctx, { id, name }) =>
    transaction(ctx, async (tx) => {
      const before = await detailOf(tx, id);
      const write = { ...tx, now: monotonicNow(before, tx.now) };
      await queries.updateSubscription(write, id, { name });
      const after = await detailOf(tx, id);
      await recordEvents(write, [subscriptionEvent("subscription.updated", after)]);
      ctx.annotateAudit({ before, after });
      return after;
    }),
});

/**
 * Cancels a subscription now or at the end of its running billing period, and plan changes scheduled for later. What was
 * billed in advance beyond that is adjusted at once. Errors:
 * not_found, conflict when it has ended, or an end is set already (`now` brings it forward). Decisions 0012, 0065.
 */
export const cancelSubscription = operation({
  name: "cancel_subscription",
  permission: "subscriptions:write",
  input: CancelSubscription,
  output: SubscriptionDetail,
  run: (ctx, { id, at }) => cancel(ctx, id, at),
});

function startOf(started_at: string | undefined, now: Temporal.Instant): IsoInstant {
  if (started_at === undefined) return iso(now);
  const latest = now.toZonedDateTimeISO("UTC").add({ years: LIMITS.start_years_ahead }).toInstant();
  if (Temporal.Instant.compare(instant(started_at), latest) > 0) {
    throw invalid("/started_at", `must be at most ${LIMITS.start_years_ahead} years from now`);
  }
  const earliest = now.toZonedDateTimeISO("UTC").subtract({ years: LIMITS.start_years_back }).toInstant();
  if (Temporal.Instant.compare(instant(started_at), earliest) < 0) {
    throw invalid("/started_at", `must be at most ${LIMITS.start_years_back} years back`);
  }
  return iso(instant(started_at));
}

async function checkRelations(
  tx: ReadTx,
  ids: { client_id: number; product_id: number; billing_model_id: number },
): Promise<void> {
  if (!(await findClient(tx, ids.client_id))) throw invalid("/client_id", "names no client of this company");
  if (!(await findProduct(tx, ids.product_id)))
    throw invalid("/product_id", "names no product of this company");
  const model = await findBillingModel(tx, ids.billing_model_id);
  if (!model) throw invalid("/billing_model_id", "names no active billing model of this company");
  checkClient("/billing_model_id", model, ids.client_id);
}
