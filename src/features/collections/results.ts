import type { Scope } from "../../core/access.ts";
import { chunked } from "../../core/chunked.ts";
import { LIMITS } from "../../core/limits.ts";
import { compare } from "../../core/money.ts";
import type { Context } from "../../context.ts";
import type { MandateOrder } from "../mandate_orders/queries.ts";
import { applyPaymentResult } from "../mandate_payments/outcomes.ts";
import type { ReadResults, ResultLine } from "../mandates/schemes/collection_file.ts";
import type { CollectionResults } from "./model.ts";
import { listRunOrders } from "./queries.ts";

/**
 * Applies a bank's results for a run, some lines in a transaction: a second time, or after a crash, those that
 * were applied change nothing. Lines about other orders, or other amounts, are told of and passed over.
 */
export async function applyResults(
  { store, now }: Pick<Context, "store" | "now">,
  scope: Scope,
  run_id: number,
  { lines, problems }: ReadResults,
): Promise<CollectionResults> {
  const told = { applied: 0, unchanged: 0 };
  const rejections = problems.map(({ line, message: reason }) => ({ line, reason }));
  for (const some of chunked(lines, LIMITS.collection_batch)) {
    const done = await store.tx(async (q) => {
      const numbers = some.map(({ order_no }) => order_no);
      const orders = await listRunOrders(q, scope, run_id, numbers);
      const step = { applied: 0, unchanged: 0, rejections: [] as typeof rejections };
      for (const line of some) {
        const order = orders.get(line.order_no);
        const reason = reasonAgainst(line, order);
        if (!order || reason !== null) {
          step.rejections.push({ line: line.line, reason: reason ?? "" });
        } else {
          // Said of the debit itself, as often as it is said.
          const result = { ...line.result, answers: "payment" as const };
          const has_changed = await applyPaymentResult(q, scope, now, order, result);
          step[has_changed ? "applied" : "unchanged"] += 1;
        }
      }
      return step;
    });
    told.applied += done.applied;
    told.unchanged += done.unchanged;
    rejections.push(...done.rejections);
    await Bun.sleep(LIMITS.collection_pause_ms);
  }
  const first = rejections.toSorted((a, b) => a.line - b.line).slice(0, LIMITS.collection_file_problems);
  return { ...told, rejected: rejections.length, rejections: first };
}

function reasonAgainst({ amount }: ResultLine, order: MandateOrder | undefined): string | null {
  if (order === undefined) return "order_no is of no debit of this run";
  return compare(order.amount, amount) === 0 ? null : `amount must be ${order.amount}`;
}
