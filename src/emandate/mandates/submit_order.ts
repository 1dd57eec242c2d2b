import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { publicOrigin } from "../../http/origin.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Tx } from "../../store/store.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { insertOrders } from "../orders/queries.ts";
import { listSchemeOrders } from "../orders/scheme_order_queries.ts";
import { applyMandateResult } from "../results/apply_to_mandate.ts";
import { findStoredMandate, requireStoredMandate, type StoredMandate, updateMandate } from "./queries.ts";
import { AUTHORIZATION_AMOUNT } from "../scheme/connector.ts";

/** The connector's method for each kind of order about a mandate. */
const METHODS = { enrolment: "startEnrolment", amendment: "amend", termination: "terminate" } as const;

/**
 * Submits an instruction about a mandate to the scheme (write-ahead): the order and the mandate as `change` leaves it
 * are committed before the call, and the result is applied after it. After a crash in between the outcome is polled;
 * the order is never sent again. Errors: not_found; conflict where the company's configuration is incomplete, before
 * anything is written; those of `change`.
 */
export async function submitMandateOrder(
  ctx: Context,
  id: number,
  kind: keyof typeof METHODS,
  change: (tx: Tx, mandate: StoredMandate) => Promise<StoredMandate>,
): Promise<void> {
  const mandate = await findStoredMandate(readTx(ctx), id);
  const connector = await openConnector(ctx, await findConfig(readTx(ctx)), mandate?.connector);
  const { order, request } = await transaction(ctx, async (tx) => {
    const changed = await change(tx, await requireStoredMandate(tx, id));
    const wanted = {
      mandate_id: id,
      connector: changed.connector,
      kind,
      amount: AUTHORIZATION_AMOUNT,
      amendment: kind === "amendment" ? changed.amendment : null,
    };
    const inserted = exactlyOne(await insertOrders(tx, [wanted]));
    const submitted = exactlyOne(await listSchemeOrders(tx, [inserted.id]));
    if (kind === "enrolment" || connector.authorizationForm(submitted.request) !== null) {
      const authorization_url = authorizationUrl(publicOrigin(ctx.config, null), inserted.order_no);
      await updateMandate(tx, changed, { authorization_url });
    }
    return submitted;
  });
  const result = await connector[METHODS[kind]](request);
  await transaction(ctx, (tx) => applyMandateResult(tx, order, result));
}

/** The page where the customer authorizes an order. */
function authorizationUrl(origin: string, order_no: string): string {
  return `${origin}/api/v1/emandate/authorizations/${order_no}`;
}
