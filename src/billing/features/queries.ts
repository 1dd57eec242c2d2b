import { and, asc, eq, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { containing, textIn } from "../../store/expressions.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { findMeters } from "../meters/queries.ts";
import type { LimitableFeature } from "./entitlement_rules.ts";
import { Feature } from "./model.ts";
import { featureTable, subscriptionEntitlementTable } from "./tables.ts";

const featureColumns = (q: Reads) => columnsOf(q.use(featureTable), Feature);

type FeatureFields = Pick<Feature, "name" | "description" | "kind" | "meter_id">;

/** Features by id, and how many there are in all. */
export function listFeatures(tx: ReadTx, { search, sort }: { search?: string; sort?: string }, slice: Slice) {
  const t = tx.q.use(featureTable);
  const where = and(inScope(tx), containing(t.name, search));
  return listRows(tx.q, t, { columns: featureColumns(tx.q), where, order: orderOf(t, sort), slice });
}

export function findFeature(tx: ReadTx, id: number): Promise<Feature | undefined> {
  const t = tx.q.use(featureTable);
  return findRow(tx.q, t, { columns: featureColumns(tx.q), where: and(inScope(tx), eq(t.id, id)) });
}

/** Those of the features that there are, by code, each with its meter. */
export async function findFeatures(
  tx: ReadTx,
  codes: readonly string[],
): Promise<Map<string, Feature & LimitableFeature>> {
  if (codes.length === 0) return new Map();
  const t = tx.q.use(featureTable);
  const where = and(inScope(tx), textIn(t.code, [...new Set(codes)]));
  const rows = await selectRows(tx.q, t, { columns: featureColumns(tx.q), where });
  const meters = await findMeters(
    tx,
    rows.flatMap(({ meter_id }) => meter_id ?? []),
  );
  return new Map(
    rows.map((row) => [
      row.code,
      { ...row, meter: row.meter_id === null ? null : (meters.get(row.meter_id) ?? null) },
    ]),
  );
}

/** The features that limit by a meter. */
export async function listFeaturesOf(tx: ReadTx, meter_id: number): Promise<Feature[]> {
  const t = tx.q.use(featureTable);
  const where = and(inScope(tx), eq(t.meter_id, meter_id));
  return selectRows(tx.q, t, { columns: featureColumns(tx.q), where, order: asc(t.id) });
}

/** A subscription that has entitlements of its own to a feature; undefined where none has. */
export async function findEntitledSubscription(tx: ReadTx, feature_id: number): Promise<number | undefined> {
  const t = tx.q.use(subscriptionEntitlementTable);
  const where = and(eq(t.company_id, tx.scope.company_id), eq(t.feature_id, feature_id));
  const row = await findRow(tx.q, t, { columns: { subscription_id: t.subscription_id }, where, limit: 1 });
  return row?.subscription_id;
}

export function insertFeature(
  { q, scope, now }: Tx,
  fields: FeatureFields & { code: string },
): Promise<Feature> {
  const row = { ...fields, company_id: scope.company_id, ...stamped(now) };
  return insertRow(q, q.use(featureTable), row, featureColumns(q));
}

export async function updateFeature(tx: Tx, id: number, fields: FeatureFields): Promise<Feature | undefined> {
  const t = tx.q.use(featureTable);
  const [feature] = await tx.q
    .update(t)
    .set({ ...fields, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(t.id, id)))
    .returning(featureColumns(tx.q));
  return feature;
}

export async function deleteFeature(tx: Tx, id: number): Promise<void> {
  const t = tx.q.use(featureTable);
  await tx.q.delete(t).where(and(inScope(tx), eq(t.id, id)));
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  return eq(q.use(featureTable).company_id, scope.company_id);
}
