import { operation } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { invalid, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed } from "../../core/schema.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { unbilledPeriods } from "./due_periods.ts";
import { cancelScheduledChanges } from "../billing_model_changes/queries.ts";
import { changeEvent } from "../billing_model_changes/rules.ts";
import { findBillingModel } from "../billing_models/queries.ts";
import { findClient } from "../../tenancy/clients/queries.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { findProduct } from "../products/queries.ts";
import { CreatedSubscription, SubscriptionDetail } from "./detail.ts";
import { CancelSubscription, CreateSubscription, ListSubscriptions, UpdateSubscription } from "./model.ts";
import * as queries from "./queries.ts";
import { cancellationTime, subscriptionEvent, monotonicNow } from "./rules.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/**
 * Lists subscriptions with their relations by id, ended ones too; whole when no page is asked for. A client
 * user sees its client's.
 */
export const listSubscriptions = operation({
  name: "list_subscriptions",
  permission: "subscriptions:read",
  input: ListSubscriptions,
  output: listed(SubscriptionDetail),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listSubscriptionDetails(readTx(ctx), filter, slice)),
});

/**
 * Finds one subscription with its relations. Errors: not_found, for a client user also when it is another
 * client's.
 */
export const getSubscription = operation({
  name: "get_subscription",
  permission: "subscriptions:read",
  input: ById,
  output: SubscriptionDetail,
  run: (ctx, { id }) => detailOf(readTx(ctx), id),
});

/**
 * Creates a subscription. It starts at `started_at`, past or future (default: now), and its billing months on
 * `billing_anchor_day` (default: 1). `past_periods` says how many have ended already and will be billed. Errors:
 * invalid (an id that names nothing to subscribe with, an external id in use, a start too far ahead or back). Decision 0013.
 */
export const createSubscription = operation({
  name: "create_subscription",
  permission: "subscriptions:write",
  input: CreateSubscription,
  output: CreatedSubscription,
  async run(ctx, { started_at, billing_anchor_day = 1, ...input }) {
    const subscription = { ...input, billing_anchor_day, started_at: startOf(started_at, ctx.now) };
    return transaction(ctx, async (tx) => {
      await checkRelations(tx, input);
      const id = await queries.insertSubscription(tx, subscription);
      const created = await withEvent(tx, "subscription.created", await detailOf(tx, id));
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
      const turn = monotonicNow(before, ctx.now);
      await queries.updateSubscription({ ...tx, now: turn }, id, { name });
      const after = await withEvent({ ...tx, now: turn }, "subscription.updated", await detailOf(tx, id));
      ctx.annotateAudit({ before, after });
      return after;
    }),
});

/**
 * Cancels a subscription now or at the end of its running billing period, and with it the changes of its
 * billing model that are scheduled for later. Errors: not_found, conflict when it has ended or already ends
 * (`now` brings a coming end forward). Decisions 0012, 0065.
 */
export const cancelSubscription = operation({
  name: "cancel_subscription",
  permission: "subscriptions:write",
  input: CancelSubscription,
  output: SubscriptionDetail,
  run: (ctx, { id, at }) =>
    transaction(ctx, async (tx) => {
      const before = await detailOf(tx, id);
      const turn = monotonicNow(before, ctx.now);
      const end = cancellationTime(before, at, turn, await queries.listZones(tx));
      await queries.updateSubscription({ ...tx, now: turn }, id, end);
      const cancelled = await cancelScheduledChanges({ ...tx, now: turn }, id, { from: end.ends_at });
      await recordEvents({ ...tx, now: turn }, cancelled.map(changeEvent));
      const after = await withEvent(
        { ...tx, now: turn },
        "subscription.cancelled",
        await detailOf({ ...tx, now: turn }, id),
      );
      ctx.annotateAudit({ before, after });
      return after;
    }),
});

async function detailOf(tx: ReadTx, id: number): Promise<SubscriptionDetail> {
  const subscription = await queries.findSubscription(tx, id);
  if (!subscription) throw notFound("Subscription", id);
  return subscription;
}

/** Writes down what happened to a subscription, and gives it back. */
async function withEvent(
  tx: Tx,
  type: NewEvent["type"],
  subscription: SubscriptionDetail,
): Promise<SubscriptionDetail> {
  await recordEvents(tx, [subscriptionEvent(type, subscription)]);
  return subscription;
}

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
  if (!(await findBillingModel(tx, ids.billing_model_id)))
    throw invalid("/billing_model_id", "names no active billing model of this company");
}
