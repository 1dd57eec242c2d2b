import { and, asc, eq, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { isZero } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { containing, filterOnly, idIn, idListed } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { namedMeters, priceTermsOf } from "./price_terms.ts";
import { type BillingModel, type ListBillingModels, type Offer, StoredBillingModel } from "./model.ts";
import type { Pricing } from "./rules.ts";
import { billingModelTable } from "./tables.ts";

/** The stored columns of a billing model; `toBillingModel` adds the rest. */
export const billingModelColumns = (q: Reads) => columnsOf(q.use(billingModelTable), StoredBillingModel);

/** A stored billing model with its billing type's name, and without what not every model has where it is not set. */
export function toBillingModel({
  purpose,
  meter_id,
  charges,
  commitment,
  setup_fee,
  trial_days,
  fee_interval,
  fee_timing,
  plan_code,
  for_client_id,
  entitlements,
  ...row
}: StoredBillingModel): BillingModel {
  const { billing_type } = priceTermsOf(row);
  return {
    ...row,
    billing_type,
    ...(purpose === "price" ? {} : { purpose }),
    ...(meter_id === null ? {} : { meter_id }),
    ...(charges.length === 0 ? {} : { charges }),
    ...(commitment === null ? {} : { commitment }),
    ...(isZero(setup_fee) ? {} : { setup_fee }),
    ...(trial_days === 0 ? {} : { trial_days }),
    ...(fee_interval === "month" ? {} : { fee_interval }),
    ...(fee_timing === "in_arrears" ? {} : { fee_timing }),
    ...(plan_code === null ? {} : { plan_code }),
    ...(for_client_id === null ? {} : { for_client_id }),
    ...(entitlements.length === 0 ? {} : { entitlements }),
  };
}

/** Active billing models by id, and how many there are in all. */
export async function listBillingModels(
  tx: ReadTx,
  { ids, search, sort, ...filter }: Omit<ListBillingModels, "page" | "limit">,
  slice: Slice,
): Promise<{ rows: BillingModel[]; total: number }> {
  const t = tx.q.use(billingModelTable);
  const where = and(inScope(tx), idListed(t.id, ids), containing(t.name, search), matching(t, filter));
  const options = { columns: billingModelColumns(tx.q), where, order: orderOf(t, sort), slice };
  const { rows, total } = await listRows(tx.q, t, options);
  return { rows: rows.map(toBillingModel), total };
}

/** An active billing model, which may be chosen. */
export async function findBillingModel(tx: ReadTx, id: number): Promise<BillingModel | undefined> {
  const billing_models = tx.q.use(billingModelTable);
  const row = await findRow(tx.q, billing_models, {
    columns: billingModelColumns(tx.q),
    where: and(inScope(tx), eq(billing_models.id, id)),
  });
  return row && toBillingModel(row);
}

/** Billing models by id, archived ones too. */
export async function findStoredModels(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<Map<number, StoredBillingModel>> {
  const billing_models = q.use(billingModelTable);
  const rows = await selectRows(q, billing_models, {
    columns: billingModelColumns(q),
    where: and(idIn(billing_models.id, ids), filterOnly(eq(billing_models.company_id, scope.company_id))),
  });
  return new Map(rows.map((row) => [row.id, row]));
}

/** Whether the company has ever had a billing model with a fee in advance. */
export async function hasModelsInAdvance(tx: ReadTx): Promise<boolean> {
  const t = tx.q.use(billingModelTable);
  const { company_id } = tx.scope;
  const found = await findRow(tx.q, t, {
    columns: { id: t.id },
    where: matching(t, { company_id, fee_timing: "in_advance" }),
    limit: 1,
  });
  return found !== undefined;
}

/** The company's billing models that name a meter, archived ones too. */
export async function listModelsNaming(
  tx: ReadTx,
  meter_id: number,
): Promise<Pick<StoredBillingModel, "id" | "status" | "charges" | "credit_plan">[]> {
  const t = tx.q.use(billingModelTable);
  const rows = await selectRows(tx.q, t, {
    columns: {
      id: t.id,
      status: t.status,
      meter_id: t.meter_id,
      charges: t.charges,
      credit_plan: t.credit_plan,
    },
    where: eq(t.company_id, tx.scope.company_id),
    order: asc(t.id),
  });
  return rows.filter((row) => namedMeters([row]).includes(meter_id));
}

/** A billing model in an error. One that was deleted keeps what it names, and is found by nobody. */
export const shownModel = ({ id, status }: Pick<StoredBillingModel, "id" | "status">) =>
  status === "archived" ? `billing model ${id}, which was deleted but is kept,` : `billing model ${id}`;

/** The company's billing models with an entitlement to a feature, archived ones too. */
export async function listModelsEntitling(
  tx: ReadTx,
  feature: string,
): Promise<Pick<StoredBillingModel, "id" | "status">[]> {
  const t = tx.q.use(billingModelTable);
  const rows = await selectRows(tx.q, t, {
    columns: { id: t.id, status: t.status, entitlements: t.entitlements },
    where: eq(t.company_id, tx.scope.company_id),
    order: asc(t.id),
  });
  return rows.filter((row) => row.entitlements.some((entitlement) => entitlement.feature === feature));
}

export async function insertBillingModel(
  { q, scope, now }: Tx,
  model: Pricing & Offer & Pick<StoredBillingModel, "name" | "description" | "purpose">,
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
  change: Partial<Pricing & Offer> & { name?: string; description?: string; status?: BillingModel["status"] },
): Promise<BillingModel | undefined> {
  const billing_models = tx.q.use(billingModelTable);
  const [row] = await tx.q
    .update(billing_models)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(billing_models.id, id)))
    .returning(billingModelColumns(tx.q));
  return row && toBillingModel(row);
}

/** The company's active billing models; of these a client user sees those made for its client. */
function inScope({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(billingModelTable);
  return and(
    eq(t.company_id, scope.company_id),
    eq(t.status, "active"),
    scope.client_id === undefined ? undefined : eq(t.for_client_id, scope.client_id),
  );
}
