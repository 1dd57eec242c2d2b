import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError } from "../../core/errors.ts";

/**
 * The first of these features of which units are reserved. It asks both stores, so ask it before a transaction begins.
 * Decision 0236.
 */
export async function findReserved(
  ctx: Context,
  feature_ids: readonly number[],
): Promise<number | undefined> {
  const tx = readTx(ctx);
  for (const id of feature_ids) if (await ctx.limits.isReserved(tx, id)) return id;
  return undefined;
}

/** What is refused while units of a feature are reserved. */
export function reservedError(feature_id: number, action: string): AppError {
  const reason = `units of feature ${feature_id} are reserved; free them, or wait for their end`;
  return new AppError("conflict", `${action}: ${reason}`);
}
