import { and, asc, eq, inArray, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { priceTermsOf } from "./price_terms.ts";
import type { BillingModel } from "./model.ts";
import type { Pricing } from "./rules.ts";
import { billingModelTable } from "./tables.ts";

/** The stored columns of a billing model; `toBillingModel` makes its record of them. */
export function billingModelColumns(q: Reads) {
  const t = q.use(billingModelTable);
  return {
    id: t.id,
    name: t.name,
    billing_type_id: t.billing_type_id,
    price: t.price,
    currency: t.currency,
    description: t.description,
    company_id: t.company_id,
    recurring_fee: t.recurring_fee,
    free_units: t.free_units,
    usage_tiers: t.usage_tiers,
    package_size: t.package_size,
    minimum_charge: t.minimum_charge,
    maximum_charge: t.maximum_charge,
    charge_flat_on_zero: t.charge_flat_on_zero,
    credit_plan: t.credit_plan,
    status: t.status,
    created_at: t.created_at,
    updated_at: t.updated_at,
  };
}

/** A stored billing model as its record: all that is not stored is the billing type's name. */
export function toBillingModel(row: StoredBillingModel): BillingModel {
  return { ...row, billing_type: priceTermsOf(row).billing_type };
}

/** Billing models by id, and how many there are in all; archived ones are left out. */
export async function listBillingModels(
  tx: ReadTx,
  filter: { search?: string },
  { limit, offset }: Slice,
): Promise<{ rows: BillingModel[]; total: number }> {
  const billing_models = tx.q.use(billingModelTable);
  const where = and(
    inScope(tx),
    filter.search === undefined ? undefined : contains(billing_models.name, filter.search),
  );
  const rows = await tx.q
    .select(billingModelColumns(tx.q))
    .from(billing_models)
    .where(where)
    .orderBy(asc(billing_models.id))
    .limit(limit)
    .offset(offset);
  return { rows: rows.map(toBillingModel), total: await tx.q.$count(billing_models, where) };
}

/** An active billing model: one that may be chosen. */
export async function findBillingModel(tx: ReadTx, id: number): Promise<BillingModel | undefined> {
  const billing_models = tx.q.use(billingModelTable);
  const [row] = await tx.q
    .select(billingModelColumns(tx.q))
    .from(billing_models)
    .where(and(inScope(tx), eq(billing_models.id, id)));
  return row && toBillingModel(row);
}

/** A billing model as it is stored. */
export type StoredBillingModel = Omit<BillingModel, "billing_type">;

/** Billing models by id, archived ones too: what was billed by them stays known. */
export async function findStoredModels(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<Map<number, StoredBillingModel>> {
  const billing_models = q.use(billingModelTable);
  const rows = await q
    .select(billingModelColumns(q))
    .from(billing_models)
    .where(and(eq(billing_models.company_id, scope.company_id), inArray(billing_models.id, [...ids])));
  return new Map(rows.map((row) => [row.id, row]));
}

export async function insertBillingModel(
  { q, scope, now }: Tx,
  model: Pricing & { name: string; description: string },
): Promise<BillingModel> {
  const rows = await q
    .insert(q.use(billingModelTable))
    .values({ ...model, company_id: scope.company_id, status: "active", ...stamped(now) })
    .returning(billingModelColumns(q));
  return toBillingModel(exactlyOne(rows));
}

export async function updateBillingModel(
  tx: Tx,
  id: number,
  change: Partial<Pricing> & { name?: string; description?: string; status?: BillingModel["status"] },
): Promise<BillingModel | undefined> {
  const billing_models = tx.q.use(billingModelTable);
  const [row] = await tx.q
    .update(billing_models)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(billing_models.id, id)))
    .returning(billingModelColumns(tx.q));
  return row && toBillingModel(row);
}

/** Billing models belong to the company as a whole: a client user meets them only inside its subscriptions. */
function inScope({ q, scope }: ReadTx): SQL | undefined {
  const billing_models = q.use(billingModelTable);
  return and(eq(billing_models.company_id, scope.company_id), eq(billing_models.status, "active"));
}
