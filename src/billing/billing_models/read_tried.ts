import { AppError, type ErrorDetail, invalid, invalidAll } from "../../core/errors.ts";
import type { ReadTx } from "../../store/store.ts";
import { stamped } from "../../store/columns.ts";
import type { CreateBillingModel, StoredBillingModel } from "./model.ts";
import { findStoredModels } from "./queries.ts";
import { type NewModel, readNewModel } from "./read_model.ts";

/** What is tried: a draft that is valid, or a stored model as it is now, archived ones too. Errors: invalid. */
export async function readTried(
  tx: ReadTx,
  {
    billing_model,
    billing_model_id,
  }: { billing_model: CreateBillingModel | undefined; billing_model_id: number | undefined },
): Promise<{ currency: string; draft: NewModel }> {
  if (billing_model !== undefined && billing_model_id === undefined) {
    const draft = await under("/billing_model", () => readNewModel(tx, billing_model));
    return { currency: draft.currency, draft };
  }
  if (billing_model_id === undefined || billing_model !== undefined)
    throw invalid("/billing_model", "or billing_model_id must be given, and not both");
  const stored = (await findStoredModels(tx, [billing_model_id])).get(billing_model_id);
  if (!stored) throw invalid("/billing_model_id", "names no billing model of this company");
  const {
    id: _id,
    company_id: _company,
    status: _status,
    created_at: _at,
    updated_at: _until,
    ...draft
  } = stored;
  return { currency: stored.currency, draft };
}

/** Names fields by their place below another. */
async function under<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !error.details) throw error;
    throw invalidAll(error.details.map((detail): ErrorDetail => ({ ...detail, path: path + detail.path })));
  }
}

/** A draft as if it were stored; without an id of its own it has one that no stored model has. */
export function asStored(
  { scope: { company_id }, now }: ReadTx,
  draft: NewModel,
  id: number | null | undefined,
): StoredBillingModel {
  return { ...draft, id: id ?? NO_MODEL, company_id, status: "active", ...stamped(now) };
}

/** The id of a draft. */
export const NO_MODEL = 0;
