import type { Context } from "../../app/context.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { type LoanScope, loanTransaction } from "../scope.ts";
import type { LoanApplication } from "./model.ts";
import { type ApplicationChange, requireApplication } from "./queries.ts";
import { transition, type Trigger } from "./rules.ts";
import { withMissing } from "./submission.ts";
import { applyTransition } from "./transition.ts";

/** Applies a trigger to an application, with the changes that `prepare` returns. Errors: not_found, conflict. */
export function changeApplication(
  ctx: Context,
  id: number,
  trigger: Trigger,
  prepare?: (tx: Tx<LoanScope>, before: LoanApplication) => Promise<ApplicationChange>,
): Promise<LoanApplication> {
  return loanTransaction(ctx, async (tx) => {
    const before = await requireApplication(tx, id);
    transition(before, trigger, tx.now);
    const after = await applyTransition(tx, before, trigger, await prepare?.(tx, before));
    ctx.annotateAudit({ before, after });
    return showApplication(tx, after);
  });
}

/** An application as it is shown, with everything it lacks in `missing`. */
export async function showApplication(
  tx: ReadTx<LoanScope>,
  application: LoanApplication,
): Promise<LoanApplication> {
  return exactlyOne(await withMissing(tx, [application]));
}
