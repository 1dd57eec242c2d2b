import type { Context } from "../../app/context.ts";
import { transaction } from "../../app/transaction.ts";
import { chunks } from "../../core/chunk.ts";
import { LIMITS } from "../limits.ts";
import { compare, type Decimal } from "../../core/money.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { listDebitOrders, listMandateOrders, type MandateOrder } from "../orders/queries.ts";
import { readResults } from "../scheme/collection_file.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import { applyDecisions } from "./apply_result.ts";
import { type Applied, applyPaymentResults, type OrderResult } from "./apply_to_payment.ts";
import type { CollectionResults } from "./model.ts";

/** The orders that a file of results may name, and how its lines are applied. */
interface ResultFileTarget {
  listOrders: (tx: ReadTx, order_nos: readonly string[]) => Promise<Map<string, MandateOrder>>;
  apply: (tx: Tx, results: readonly OrderResult[]) => Promise<Applied>;
  /** The reason given for a line about another order. */
  unknown: string;
}

/** Results of debits; only those of one collection run where it is given. */
export function debitTarget(run_id?: number): ResultFileTarget {
  return {
    listOrders: (tx, order_nos) => listDebitOrders(tx, order_nos, run_id),
    // A line is always about the debit itself, however often it comes.
    apply(tx, results) {
      const debits = results.map(({ order, result }) => ({
        order,
        result: { ...result, answers: "payment" as const },
      }));
      return applyPaymentResults(tx, debits);
    },
    unknown: run_id === undefined ? "order_no is of no debit" : "order_no is of no debit of this run",
  };
}

/** Banks' decisions on mandates. */
export const DECISION_TARGET: ResultFileTarget = {
  listOrders: listMandateOrders,
  apply: applyDecisions,
  unknown: "order_no is of no mandate",
};

/**
 * Applies a file of results in batches, a transaction each: a second time, or after a crash, the lines that were
 * applied change nothing. Lines about other orders, or other amounts, are rejected with the reason. Errors: invalid
 * for what is not such a file.
 */
export async function applyResultFile(
  ctx: Context,
  { listOrders, apply, unknown }: ResultFileTarget,
  csv: string,
): Promise<CollectionResults> {
  const { lines, problems } = await readResults(csv);
  const counts = { applied: 0, flagged: 0, unchanged: 0 };
  const rejections = problems.map(({ line, message: reason }) => ({ line, reason }));
  for (const batch of chunks(lines, LIMITS.collection_batch)) {
    const done = await transaction(ctx, async (tx) => {
      const numbers = batch.map(({ order_no }) => order_no);
      const orders = await listOrders(tx, numbers);
      const wrong: typeof rejections = [];
      const received: OrderResult[] = [];
      for (const { line, order_no, amount, result } of batch) {
        const order = orders.get(order_no);
        const reason = order === undefined ? unknown : lineProblem(amount, result, order);
        if (order === undefined || reason !== null) wrong.push({ line, reason: reason ?? "" });
        else received.push({ order, result });
      }
      const { changed, flagged } = await apply(tx, received);
      const unchanged = received.length - changed.union(flagged).size;
      return { applied: changed.size, flagged: flagged.size, unchanged, rejections: wrong };
    });
    counts.applied += done.applied;
    counts.flagged += done.flagged;
    counts.unchanged += done.unchanged;
    rejections.push(...done.rejections);
    await Bun.sleep(LIMITS.collection_pause_ms);
  }
  const first = rejections.toSorted((a, b) => a.line - b.line).slice(0, LIMITS.collection_file_problems);
  return { ...counts, rejected: rejections.length, rejections: first };
}

function lineProblem(amount: Decimal, { answers }: SchemeResult, order: MandateOrder): string | null {
  if (compare(order.amount, amount) !== 0) return `amount must be ${order.amount}`;
  return order.kind === "debit" && answers === "end" ? "ended_by is for orders of mandates" : null;
}
