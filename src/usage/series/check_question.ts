import type { ReadTx } from "../../store/store.ts";
import { findSubscription } from "../../billing/subscriptions/queries.ts";
import { notFound } from "../../core/errors.ts";
import { resolve } from "../filters/resolve.ts";
import type { SeriesQuestion } from "./model.ts";
import { assertOneForm, between } from "./range.ts";
import { instant } from "../../core/time.ts";

/**
 * Checks a question without asking it. Errors: those that it would be refused with whenever it is asked; how many buckets
 * its range makes may change until then.
 */
export async function checkQuestion(tx: ReadTx, question: SeriesQuestion): Promise<void> {
  const { range = {} } = question;
  assertOneForm(range);
  const { from, to, period_of } = range;
  if (from !== undefined && to !== undefined) between(instant(from), instant(to));
  if (period_of !== undefined && (await findSubscription(tx, period_of)) === undefined)
    throw notFound("Subscription", period_of);
  await resolve(tx, question, []);
}
