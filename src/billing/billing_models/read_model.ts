import { invalid } from "../../core/errors.ts";
import { FieldErrors } from "../../core/field_errors.ts";
import type { ReadTx } from "../../store/store.ts";
import { findClient } from "../../tenancy/clients/queries.ts";
import type { Entitlement, EntitlementInput } from "../features/entitlement_model.ts";
import { readEntitlements } from "../features/entitlement_rules.ts";
import { findFeatures } from "../features/queries.ts";
import type { Meter } from "../meters/model.ts";
import { findMeters } from "../meters/queries.ts";
import type { CreateBillingModel, Offer, PricingInput, StoredBillingModel } from "./model.ts";
import { DEFAULT_PRICING, mergePricing, type Pricing } from "./rules.ts";

/** What a request makes of a new billing model, whether it is written or only tried. */
export type NewModel = Pricing & Offer & Pick<StoredBillingModel, "name" | "description" | "purpose">;

/** Reads a new billing model. Errors: invalid, naming every broken rule of its billing type. */
export async function readNewModel(
  tx: ReadTx,
  {
    name,
    description,
    purpose = "price",
    plan_code = null,
    for_client_id = null,
    entitlements = [],
    ...input
  }: CreateBillingModel,
): Promise<NewModel> {
  const { billing_type_id, currency } = input;
  if (purpose === "cost" && for_client_id !== null)
    throw invalid("/for_client_id", "must be left out: no client may take a model of purpose cost");
  await requireClient(tx, for_client_id);
  const before = { ...DEFAULT_PRICING, billing_type_id, currency };
  const pricing = mergePricing(before, input, await findMetersOf(tx, before, input));
  const granted = await readGranted(tx, entitlements);
  return { name, description, purpose, plan_code, for_client_id, entitlements: granted, ...pricing };
}

export async function requireClient(tx: ReadTx, id: number | null): Promise<void> {
  if (id !== null && !(await findClient(tx, id)))
    throw invalid("/for_client_id", "names no client of this company");
}

/** Errors: invalid, naming every broken rule. */
export async function readGranted(tx: ReadTx, inputs: readonly EntitlementInput[]): Promise<Entitlement[]> {
  const errors = new FieldErrors();
  const codes = inputs.map(({ feature }) => feature);
  const entitlements = readEntitlements(inputs, await findFeatures(tx, codes), errors);
  errors.refuse();
  return entitlements;
}

/** The meters that a model names, before a change or by it. */
export async function findMetersOf(
  tx: ReadTx,
  before: Pricing,
  input: PricingInput,
): Promise<Map<number, Meter>> {
  const charges = [...before.charges, ...(input.charges ?? [])];
  const rates = [...(before.credit_plan?.rates ?? []), ...(input.credit_plan?.rates ?? [])];
  const named = [before.meter_id, input.meter_id, ...[...charges, ...rates].map(({ meter_id }) => meter_id)];
  return findMeters(tx, [...new Set(named.filter((id) => typeof id === "number"))]);
}
