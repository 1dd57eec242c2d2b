import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { AppError } from "../../core/errors.ts";
import { Nothing, nullable } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import { listUnfiled } from "../collections/file_queries.ts";
import { dueAt } from "../payments/rules.ts";
import { dayAt } from "../working_days.ts";
import { HeldDebits } from "./model.ts";
import * as queries from "./queries.ts";

/** Finds what the release of the company's debits would send; null where they are not held. */
export const findHeldDebits = operation({
  name: "find_held_debits",
  permission: "emandate:read",
  input: Nothing,
  output: nullable(HeldDebits),
  async run(ctx) {
    const tx = readTx(ctx);
    const hold = await queries.findHold(tx);
    return hold ? heldDebits(tx, hold) : null;
  },
});

/**
 * Releases the company's debits, which wait since a restore: the next collection sends them. Errors: conflict where
 * they are not held. Decision 0186.
 */
export const resumeCollections = operation({
  name: "resume_collections",
  permission: "emandate:write",
  target: "debit_hold",
  input: Nothing,
  output: HeldDebits,
  run: (ctx) =>
    transaction(ctx, async (tx) => {
      const hold = await queries.releaseHold(tx);
      if (!hold) throw new AppError("conflict", "Cannot resume collections: debits are not held");
      return heldDebits(tx, hold);
    }),
});

async function heldDebits(tx: ReadTx, { reason, created_at }: queries.DebitHold): Promise<HeldDebits> {
  const before = dueAt(dayAt(tx.now).add({ days: 1 }));
  const { due, amount } = await queries.sumDuePayments(tx, before);
  return {
    reason,
    held_since: created_at,
    due,
    due_amount: amount,
    due_mandates: await queries.countDueMandates(tx, before),
    has_unfiled: (await listUnfiled(tx, { after_id: 0, limit: 1 })).length > 0,
  };
}
