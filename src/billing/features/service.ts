import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import { listModelsEntitling } from "../billing_models/queries.ts";
import { findMeter } from "../meters/queries.ts";
import { CreateFeature, Feature, ListFeatures, UpdateFeature } from "./model.ts";
import * as queries from "./queries.ts";

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
 * Replaces a feature's name, and what else is given. Its kind and its meter are frozen once a billing model or a
 * subscription has an entitlement to it. Errors: not_found, invalid, conflict.
 */
export const updateFeature = operation({
  name: "update_feature",
  permission: "entitlements:write",
  input: UpdateFeature,
  output: Feature,
  run: (ctx, { id, name, description, kind, meter_id }) =>
    transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findFeature(tx, id), "Feature", id);
      const counting = {
        kind: kind ?? before.kind,
        meter_id: meter_id === undefined ? before.meter_id : meter_id,
      };
      if (counting.kind !== before.kind || counting.meter_id !== before.meter_id) {
        await refuseNamed(tx, before, `Cannot change the kind or the meter of feature ${id}`);
        await checkMeter(tx, counting);
      }
      const fields = { name, description: description ?? before.description, ...counting };
      const feature = orNotFound(await queries.updateFeature(tx, id, fields), "Feature", id);
      ctx.annotateAudit({ before, after: feature });
      return feature;
    }),
});

/** Deletes a feature. Errors: not_found, conflict while a billing model or a subscription has an entitlement to it. */
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
      await queries.deleteFeature(tx, id);
      return {};
    }),
});

/** Errors: invalid for a meter that there is not, or whose total can't be limited. */
async function checkMeter(tx: ReadTx, { kind, meter_id }: Pick<Feature, "kind" | "meter_id">): Promise<void> {
  if (meter_id === null) return;
  if (kind !== "limit")
    throw invalid("/meter_id", `must be left out: a feature of kind ${kind} counts nothing`);
  const meter = await findMeter(tx, meter_id);
  if (!meter) throw invalid("/meter_id", "names no meter of this company");
  const { aggregation } = meter;
  if (aggregation === "average" || aggregation === "percentile")
    throw invalid("/meter_id", `names a meter of aggregation ${aggregation}, which can't be limited`);
}

/** Errors: conflict where a billing model or a subscription has an entitlement to the feature. */
async function refuseNamed(tx: ReadTx, { id, code }: Feature, action: string): Promise<void> {
  const [model] = await listModelsEntitling(tx, code);
  if (model) throw new AppError("conflict", `${action}: billing model ${model.id} has an entitlement to it`);
  const subscription = await queries.findEntitledSubscription(tx, id);
  if (subscription !== undefined)
    throw new AppError("conflict", `${action}: subscription ${subscription} has an entitlement to it`);
}
