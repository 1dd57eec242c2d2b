import type { Scope } from "../../core/access.ts";
import { chunks } from "../../core/chunk.ts";
import { LIMITS } from "../limits.ts";
import { compare, type Decimal } from "../../core/money.ts";
import type { Queries, Store } from "../../store/store.ts";
import { listDebitOrders, type MandateOrder } from "../orders/queries.ts";
import { type Applied, applyPaymentResults, type OrderResult } from "./apply_to_payment.ts";
import type { ReadResults } from "../scheme/collection_file.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import type { CollectionResults } from "./model.ts";

/** Which orders a file may be about, and what its lines do to them. */
interface ResultFileTarget {
  listOrders: (q: Queries, order_nos: readonly string[]) => Promise<Map<string, MandateOrder>>;
  apply: (q: Queries, results: readonly OrderResult[]) => Promise<Applied>;
  /** What is told of a line about another order. */
  unknown: string;
}

/** What a bank says of debits, of one run's where one is named. */
export function debitTarget(scope: Scope, now: Temporal.Instant, run_id?: number): ResultFileTarget {
  return {
    listOrders: (q, order_nos) => listDebitOrders({ q, scope, now }, order_nos, run_id),
    // Said of the debit itself, as often as it is said.
    apply: (q, results) => {
      const debits = results.map(({ order, result }) => ({
        order,
        result: { ...result, answers: "payment" as const },
      }));
      return applyPaymentResults({ q, scope, now }, debits);
    },
    unknown: run_id === undefined ? "order_no is of no debit" : "order_no is of no debit of this run",
  };
}

/**
 * Applies a bank's results, some lines in a transaction: a second time, or after a crash, those that were applied
 * change nothing. Lines about other orders, or other amounts, are told of and passed over.
 */
export async function applyResults(
  store: Store,
  { listOrders, apply, unknown }: ResultFileTarget,
  { lines, problems }: ReadResults,
): Promise<CollectionResults> {
  const counts = { applied: 0, flagged: 0, unchanged: 0 };
  const rejections = problems.map(({ line, message: reason }) => ({ line, reason }));
  for (const batch of chunks(lines, LIMITS.collection_batch)) {
    const done = await store.tx(async (q) => {
      const numbers = batch.map(({ order_no }) => order_no);
      const orders = await listOrders(q, numbers);
      const wrong: typeof rejections = [];
      const received: OrderResult[] = [];
      for (const { line, order_no, amount, result } of batch) {
        const order = orders.get(order_no);
        const reason = order === undefined ? unknown : lineProblem(amount, result, order);
        if (order === undefined || reason !== null) wrong.push({ line, reason: reason ?? "" });
        else received.push({ order, result });
      }
      const { changed, flagged } = await apply(q, received);
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
