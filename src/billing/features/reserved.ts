import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError } from "../../core/errors.ts";
import type { ReadTx } from "../../store/store.ts";

/** Whether units of features are reserved, as a transaction sees it. */
export type FindReserved = (tx: ReadTx, feature_ids: readonly number[]) => Promise<number | undefined>;

/**
 * What answers, in a transaction, which is the first of some features of which units are reserved. Which reservations are
 * settled already the usage store knows, and is asked here, before the transaction. Decision 0236.
 */
export async function reservedOf(ctx: Context, feature_ids: readonly number[]): Promise<FindReserved> {
  const settled = await ctx.limits.findSettled(readTx(ctx), feature_ids);
  return (tx, ids) => ctx.limits.findReserved(tx, ids, settled);
}

/** What is refused while units of a feature are reserved. */
export function reservedError(feature_id: number, action: string): AppError {
  const reason = `units of feature ${feature_id} are reserved; free them, or wait for their end`;
  return new AppError("conflict", `${action}: ${reason}`);
}
