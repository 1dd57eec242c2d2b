import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { publicOrigin } from "../../http/origin.ts";
import { insertOrders, listSchemeOrders, type MandateOrder } from "../orders/queries.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries } from "../../store/store.ts";
import { AUTHORIZATION_AMOUNT } from "./model.ts";
import { applyMandateResult } from "../results/apply_to_mandate.ts";
import type { StoredMandate } from "./queries.ts";
import { findStoredMandate, updateMandate } from "./queries.ts";
import type { SchemeConnector, SchemeOrder, SchemeResult } from "../scheme/connector.ts";

type SchemeInstruction = Exclude<MandateOrder["kind"], "debit">;

const INSTRUCTIONS: Record<
  SchemeInstruction,
  (connector: SchemeConnector, order: SchemeOrder) => Promise<SchemeResult>
> = {
  enrolment: (connector, order) => connector.startEnrolment(order),
  amendment: (connector, order) => connector.amend(order),
  termination: (connector, order) => connector.terminate(order),
};

/**
 * Asks the scheme something about a mandate: the order and what `change` makes of the mandate are on record before
 * it is asked, and what it says at once is written down after. Whatever breaks in between, the scheme is asked
 * later what became of the order, which is never sent again. Errors: conflict where the company's configuration is
 * not complete, before anything is written, and those of `change`.
 */
export async function submitMandateOrder(
  ctx: Context,
  scope: Scope,
  id: number,
  kind: SchemeInstruction,
  change: (q: Queries) => Promise<StoredMandate>,
): Promise<void> {
  const { store, now } = ctx;
  const mandate = await findStoredMandate({ q: store.read, scope, now }, id);
  const stored = await findConfig({ q: store.read, scope, now });
  const connector = await openConnector(ctx, stored, mandate?.connector);
  const { order, request } = await store.tx(async (q) => {
    const changed = await change(q);
    const wanted = {
      mandate_id: id,
      connector: changed.connector,
      kind,
      amount: AUTHORIZATION_AMOUNT,
      amendment: kind === "amendment" ? changed.amendment : null,
    };
    const inserted = exactlyOne(await insertOrders({ q, scope, now }, [wanted]));
    const read = exactlyOne(await listSchemeOrders({ q, scope, now }, [inserted.id]));
    if (kind === "enrolment" || connector.authorizationForm(read.request) !== null) {
      const authorization_url = authorizationUrl(publicOrigin(ctx.config, null), inserted.order_no);
      await updateMandate({ q, scope, now }, changed, { authorization_url });
    }
    return read;
  });
  const result = await INSTRUCTIONS[kind](connector, request);
  await store.tx((q) => applyMandateResult({ q, scope, now }, order, result));
}

/** Where the customer goes to authorize an order. */
function authorizationUrl(origin: string, order_no: string): string {
  return `${origin}/api/v1/emandate/authorizations/${order_no}`;
}
