import type { ReadTx } from "../../store/store.ts";
import { findAddOnTerms } from "../add_ons/queries.ts";
import { type PriceTerms, priceTermsOf } from "../billing_models/price_terms.ts";
import { findStoredModels } from "../billing_models/queries.ts";
import { addOnTerms } from "../rating/add_on_lines.ts";
import type { BillLine } from "../rating/bill_line.ts";

/** The terms that a line was rated by: its model's, or those of its add-on for a quantity of 1. */
export type ModelOf = (billing_model_id: number, add_on_id?: number) => PriceTerms;

/** What lines were rated by. */
export interface TermsOfLines {
  readonly modelOf: ModelOf;
  /** All of them. */
  readonly terms: readonly PriceTerms[];
}

/** Reads what lines were rated by, deleted models and add-ons too. `modelOf` throws for what is not there. */
export async function findTermsOf(tx: ReadTx, lines: readonly BillLine[]): Promise<TermsOfLines> {
  const stored = await findStoredModels(tx, [...new Set(lines.map((line) => line.billing_model_id))]);
  const models = new Map([...stored].map(([id, model]) => [id, priceTermsOf(model)]));
  const add_on_ids = lines.flatMap(({ add_on_id }) => add_on_id ?? []);
  const add_ons = await findAddOnTerms(tx, [...new Set(add_on_ids)]);
  const modelOf: ModelOf = (id, add_on_id) => {
    const model = models.get(id);
    if (!model) throw new Error(`Cannot verify a line: billing model ${id} is not there`);
    if (add_on_id === undefined) return model;
    const add_on = add_ons.get(add_on_id);
    if (!add_on) throw new Error(`Cannot verify a line: add-on ${add_on_id} is not there`);
    return addOnTerms(model, add_on, "1");
  };
  const named = lines.map(({ billing_model_id, add_on_id }) => modelOf(billing_model_id, add_on_id));
  return { modelOf, terms: [...models.values(), ...named] };
}
