import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { canBeLimited } from "../../billing/features/entitlement_rules.ts";
import { findFeatures } from "../../billing/features/queries.ts";
import { findMeter } from "../../billing/meters/queries.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import { FieldErrors } from "../../core/field_errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { listPage, pagedList } from "../../core/pagination.ts";
import { ById, listed, Nothing, paged } from "../../core/schema.ts";
import { nextTurn } from "../../core/chunk.ts";
import type { ReadTx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import * as firings from "./firing_queries.ts";
import { Alert, AlertFiring, CreateAlert, ListAlerts, ListFirings, UpdateAlert } from "./model.ts";
import * as queries from "./queries.ts";
import { checkNamed, readThresholds } from "./rules.ts";

/** Lists the company's alerts by id; whole when no page is asked for. */
export const listAlerts = operation({
  name: "list_alerts",
  permission: "entitlements:read",
  input: ListAlerts,
  output: listed(Alert),
  run: (ctx, { page, limit, ...order }) =>
    listPage({ page, limit }, (slice) => queries.listAlerts(readTx(ctx), order, slice)),
});

/** Finds one alert. Errors: not_found. */
export const getAlert = operation({
  name: "get_alert",
  permission: "entitlements:read",
  input: ById,
  output: Alert,
  run: async (ctx, { id }) => orNotFound(await queries.findAlert(readTx(ctx), id), "Alert", id),
});

/** Creates an alert; what is passed already is told at once. Errors: invalid, naming every broken rule, conflict. */
export const createAlert = operation({
  name: "create_alert",
  permission: "entitlements:write",
  input: CreateAlert,
  output: Alert,
  async run(ctx, { name, on, meter_id = null, feature = null, currency = null, scope = {}, thresholds }) {
    const alert = await transaction(ctx, async (tx) => {
      if ((await queries.countAlerts(tx)) >= LIMITS.alerts)
        throw new AppError("conflict", `Cannot create an alert: there are ${LIMITS.alerts}; delete some`);
      const given = { name, on, meter_id, feature, currency, scope, thresholds };
      const id = await queries.insertAlert(tx, await readAlert(tx, given));
      return orNotFound(await queries.findAlert(tx, id), "Alert", id);
    });
    ctx.limits.noteAlerts(alert.company_id);
    return alert;
  },
});

/** Replaces an alert's name, and what else is given, but for what it is on. Errors: not_found, invalid. */
export const updateAlert = operation({
  name: "update_alert",
  permission: "entitlements:write",
  input: UpdateAlert,
  output: Alert,
  async run(ctx, { id, ...given }) {
    const alert = await transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findAlert(tx, id), "Alert", id);
      await queries.updateAlert(tx, id, await readAlert(tx, merge(before, given), before.on));
      const after = orNotFound(await queries.findAlert(tx, id), "Alert", id);
      ctx.annotateAudit({ before, after });
      return after;
    });
    ctx.limits.noteAlerts(alert.company_id);
    return alert;
  },
});

/** Deletes an alert, with what it has told. Errors: not_found. */
export const deleteAlert = operation({
  name: "delete_alert",
  permission: "entitlements:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      if (!(await queries.deleteAlert(tx, id))) orNotFound(undefined, "Alert", id);
      return {};
    }),
});

/** Lists what an alert has told, newest first. Errors: not_found. */
export const listAlertFirings = operation({
  name: "list_alert_firings",
  permission: "entitlements:read",
  input: ListFirings,
  output: paged(AlertFiring),
  async run(ctx, { id, page, limit, ...filter }) {
    const tx = readTx(ctx);
    orNotFound(await queries.findAlert(tx, id), "Alert", id);
    return pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      firings.listFirings(tx, { alert_id: id, ...filter }, slice),
    );
  },
});

/** Deletes firings of long ago and of deleted alerts, some at a time. */
export const pruneAlertFirings = operation({
  name: "prune_alert_firings",
  permission: "entitlements:write",
  unaudited: true,
  uses_reserve: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const until = ctx.now.subtract({ hours: 24 * LIMITS.alert_firing_days });
    while (!ctx.background.is_stopping) {
      const count = await transaction(ctx, (tx) => queries.deleteOldFirings(tx, until, LIMITS.alert_prune));
      if (count === 0) return {};
      await nextTurn();
    }
    return {};
  },
});

/** An alert as it is given, with what is left out. */
type Given = Pick<Alert, "name" | "on" | "meter_id" | "feature" | "currency" | "scope"> & {
  thresholds: readonly (string | number)[];
};

/** What is left out stays. */
function merge(before: Alert, given: { [K in keyof Given]?: Given[K] | undefined }): Given {
  const { name, on, meter_id, feature, currency, scope, thresholds } = given;
  return {
    name: name ?? before.name,
    on: on ?? before.on,
    meter_id: meter_id === undefined ? before.meter_id : meter_id,
    feature: feature === undefined ? before.feature : feature,
    currency: currency === undefined ? before.currency : currency,
    scope: scope ?? before.scope,
    thresholds: thresholds ?? before.thresholds,
  };
}

/** Errors: invalid, naming every broken rule. `kept` is what an alert that is there is on. */
async function readAlert(tx: ReadTx, given: Given, kept = given.on): Promise<queries.AlertFields> {
  const errors = new FieldErrors();
  const { name, on, meter_id, feature, currency, scope } = given;
  if (on !== kept) errors.add({ path: "/on", message: `must stay ${kept}; create another alert` });
  checkNamed(given, errors);
  const thresholds = readThresholds(given.thresholds, on, errors);
  const meter = meter_id === null ? null : await findMeter(tx, meter_id);
  if (meter === undefined) errors.add({ path: "/meter_id", message: "names no meter of this company" });
  else if (meter !== null && !canBeLimited(meter))
    errors.add({
      path: "/meter_id",
      message: `names a meter of aggregation ${meter.aggregation}, which has no running total`,
    });
  const found = feature === null ? null : ((await findFeatures(tx, [feature])).get(feature) ?? null);
  if (feature !== null && found?.kind !== "limit")
    errors.add({ path: "/feature", message: "names no feature of kind limit of this company" });
  await checkScope(tx, scope, errors);
  errors.refuse();
  return { name, on, meter_id, feature_id: found?.id ?? null, currency, scope, thresholds };
}

const LISTS = [
  ["client_ids", "client"],
  ["product_ids", "product"],
  ["billing_model_ids", "billing model"],
  ["subscription_ids", "subscription"],
] as const;

async function checkScope(tx: ReadTx, scope: Alert["scope"], errors: FieldErrors): Promise<void> {
  for (const [list, noun] of LISTS) {
    const ids = scope[list];
    if (ids === undefined) continue;
    const existing = await queries.existingIn(tx, list, ids);
    for (const [i, id] of ids.entries())
      if (!existing.has(id))
        errors.add({ path: `/scope/${list}/${i}`, message: `names no ${noun} of this company` });
  }
}
