import type { Answer, Json } from "../../support/harness.ts";
import { done, type Loans } from "../applications/fixtures.ts";

export const EVIDENCE = { method: "checkbox", captured_at: "2026-03-10T11:59:00Z" };
export const TEXT = {
  title: "Credit bureau check",
  purpose_text: "To assess your application",
  data_text: "Your records with the bureau",
  data_categories: ["credit", "identity"],
  audience: "CTOS",
  data_life_days: 2_555,
  validity_days: 365,
};
let codes = 0;
export const newCode = () => `code_${++codes}`;

/** Creates a definition, under a code of its own where none is given. */
export const define = ({ lender }: Loans, change: object = {}): Promise<Answer> =>
  lender("POST", "/lender/consent-definitions", { code: newCode(), locale: "en", ...TEXT, ...change });

/** A definition that agents may ask for. */
export async function publish(loans: Loans, change: object = {}): Promise<Json> {
  const { id } = await done(define(loans, change));
  return done(loans.lender("POST", `/lender/consent-definitions/${id}/publish`));
}
