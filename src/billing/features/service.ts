import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { isReferenced } from "../../store/constraints.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { findAlertNaming } from "./alert_queries.ts";
import { listAddOnsEntitling } from "../add_ons/queries.ts";
import { listModelsEntitling, shownModel } from "../billing_models/queries.ts";
import { findMeter } from "../meters/queries.ts";
import { canBeLimited } from "./entitlement_rules.ts";
import { CreateFeature, Feature, ListFeatures, UpdateFeature } from "./model.ts";
import * as queries from "./queries.ts";
import { reservedError, reservedOf } from "./reserved.ts";

/** Lists the company's features by id; whole when no page is asked for. */
export const listFeatures = operation({
  name: "list_features",
  permission: "entitlements:read",
  input: ListFeatures,
  output: listed(Feature),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listFeatures(readTx(ctx), filter, slice)),
});

/** Finds one feature. Errors: not_found. */
export const getFeature = operation({
  name: "get_feature",
  permission: "entitlements:read",
  input: ById,
  output: Feature,
  run: async (ctx, { id }) => orNotFound(await queries.findFeature(readTx(ctx), id), "Feature", id),
});

/** Creates a feature. Errors: invalid for a code that is taken, or a meter that can't be limited. */
export const createFeature = operation({
  name: "create_feature",
  permission: "entitlements:write",
  input: CreateFeature,
  output: Feature,
  run: (ctx, { code, name, description = "", kind, meter_id = null }) =>
    transaction(ctx, async (tx) => {
      await checkMeter(tx, { kind, meter_id });
      return queries.insertFeature(tx, { code, name, description, kind, meter_id });
    }),
});

/**
 * Replaces a feature's name, and what else is given. Its kind and its meter are frozen while a billing model, an add-on or
 * a subscription has an entitlement to it, an alert names it, or units of it are reserved. Errors: not_found, invalid,
 * conflict.
 */
export const updateFeature = operation({
  name: "update_feature",
  permission: "entitlements:write",
  input: UpdateFeature,
  output: Feature,
  async run(ctx, { id, name, description, ...given }) {
    const present = await queries.findFeature(readTx(ctx), id);
    const changes = present !== undefined && countsOther(present, countingOf(present, given));
    const findReserved = await reservedOf(ctx, changes ? [id] : []);
    return transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findFeature(tx, id), "Feature", id);
      const counting = countingOf(before, given);
      if (countsOther(before, counting)) {
        const action = `Cannot change the kind or the meter of feature ${id}`;
        await refuseNamed(tx, before, action);
        if ((await findReserved(tx, [id])) !== undefined) throw reservedError(id, action);
        await checkMeter(tx, counting);
      }
      const fields = { name, description: description ?? before.description, ...counting };
      const feature = orNotFound(await queries.updateFeature(tx, id, fields), "Feature", id);
      ctx.annotateAudit({ before, after: feature });
      return feature;
    });
  },
});

/** What a feature counts by. */
type FeatureCounting = Pick<Feature, "kind" | "meter_id">;

/** What a feature will count by once a request is merged into it. */
function countingOf(before: Feature, { kind, meter_id }: Partial<FeatureCounting>): FeatureCounting {
  return { kind: kind ?? before.kind, meter_id: meter_id === undefined ? before.meter_id : meter_id };
}

const countsOther = (before: FeatureCounting, after: FeatureCounting): boolean =>
  after.kind !== before.kind || after.meter_id !== before.meter_id;

/**
 * Deletes a feature. Errors: not_found, conflict while a billing model, an add-on or a subscription has an entitlement to
 * it, an alert names it, or units of it are reserved.
 */
export const deleteFeature = operation({
  name: "delete_feature",
  permission: "entitlements:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const feature = orNotFound(await queries.findFeature(tx, id), "Feature", id);
      await refuseNamed(tx, feature, `Cannot delete feature ${id}`);
      await deleteUnreserved(tx, id);
      return {};
    }),
});

/** Reservations alone may refer to a feature that nothing names any more. Errors: conflict. */
async function deleteUnreserved(tx: Tx, id: number): Promise<void> {
  try {
    await queries.deleteFeature(tx, id);
  } catch (error) {
    if (!isReferenced(error)) throw error;
    // Without its cause, which the store would read as its own error.
    throw reservedError(id, `Cannot delete feature ${id}`);
  }
}

/** Errors: invalid for a meter that there is not, or whose total can't be limited. */
async function checkMeter(tx: ReadTx, { kind, meter_id }: FeatureCounting): Promise<void> {
  if (meter_id === null) return;
  if (kind !== "limit")
    throw invalid("/meter_id", `must be left out: a feature of kind ${kind} counts nothing`);
  const meter = await findMeter(tx, meter_id);
  if (!meter) throw invalid("/meter_id", "names no meter of this company");
  if (!canBeLimited(meter))
    throw invalid("/meter_id", `names a meter of aggregation ${meter.aggregation}, which can't be limited`);
}

/** Errors: conflict where a billing model, an add-on or a subscription has an entitlement to the feature, or an alert names it. */
async function refuseNamed(tx: ReadTx, { id, code }: Feature, action: string): Promise<void> {
  const [model] = await listModelsEntitling(tx, code);
  if (model) throw new AppError("conflict", `${action}: ${shownModel(model)} has an entitlement to it`);
  const [add_on] = await listAddOnsEntitling(tx, code);
  if (add_on) throw new AppError("conflict", `${action}: add-on ${add_on.id} has an entitlement to it`);
  const alert = await findAlertNaming(tx, { feature_id: id });
  if (alert !== undefined) throw new AppError("conflict", `${action}: alert ${alert} names it`);
  const subscription = await queries.findEntitledSubscription(tx, id);
  if (subscription !== undefined)
    throw new AppError("conflict", `${action}: subscription ${subscription} has an entitlement to it`);
}
