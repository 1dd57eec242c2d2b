import { operation } from "../../app/operation.ts";
import { transaction } from "../../app/transaction.ts";
import { recordSystemChange } from "../../audit/recorder.ts";
import { LIMITS } from "../limits.ts";
import { Nothing } from "../../core/schema.ts";
import { listExpired } from "./queries.ts";
import { applyTransition } from "./transition.ts";

/**
 * Expires offers, drafts and action requests past their deadline; concurrent runs expire each once, with its event.
 * See docs/loans.md#states.
 */
export const expireLoanApplications = operation({
  name: "expire_loan_applications",
  permission: "lending:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const limit: number = LIMITS.loan_expiry_batch;
    let count = limit;
    while (count === limit && !ctx.background.is_stopping) {
      count = await transaction(ctx, async (tx) => {
        const { company_id } = tx.scope;
        const expired = await listExpired(tx, limit);
        for (const application of expired) {
          const { id, environment } = application;
          await applyTransition({ ...tx, scope: { company_id, environment } }, application, "expire");
          const target = { type: "loan_application", id };
          await recordSystemChange(ctx, tx, "expire_loan_application", target);
        }
        return expired.length;
      });
    }
    return {};
  },
});
