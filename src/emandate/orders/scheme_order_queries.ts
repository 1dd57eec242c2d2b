import { and, asc, eq, getTableColumns } from "drizzle-orm";
import { instant } from "../../core/time.ts";
import { companyOwned, filterOnly, idIn } from "../../store/expressions.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { emandateCustomerTable } from "../customers/tables.ts";
import { mandateTable } from "../mandates/tables.ts";
import { mandatePaymentTable } from "../payments/tables.ts";
import { modeOf } from "../products/rules.ts";
import type { SchemeOrder } from "../scheme/connector.ts";
import type { MandateOrder } from "./queries.ts";
import { mandateOrderTable } from "./tables.ts";
import type { Frequency } from "../schedule.ts";

const schemeOrderColumns = oncePerDialect((q) => {
  const mandates = q.use(mandateTable);
  const customers = q.use(emandateCustomerTable);
  const { reference, scheme_reference, bank_code, max_amount, max_no_debit } = mandates;
  const { effective_date, expiry_date, frequency } = mandates;
  return {
    order: getTableColumns(q.use(mandateOrderTable)),
    mandate: {
      reference,
      scheme_reference,
      customer_name: customers.name,
      customer_email: customers.email,
      customer_ic_number: customers.ic_number,
      bank_code,
      max_amount,
      max_no_debit,
      effective_date,
      expiry_date,
    },
    frequency,
    description: q.use(mandatePaymentTable).description,
  };
});

/** Orders by their ids, oldest first, each with the request that a connector sends. */
export async function listSchemeOrders(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<{ order: MandateOrder; request: SchemeOrder }[]> {
  const t = q.use(mandateOrderTable);
  const mandates = q.use(mandateTable);
  const customers = q.use(emandateCustomerTable);
  const payments = q.use(mandatePaymentTable);
  const rows = await selectRows(q, t, {
    columns: schemeOrderColumns(q),
    joins: [
      [mandates, eq(mandates.id, t.mandate_id)],
      [customers, eq(customers.id, mandates.customer_id)],
    ],
    left_joins: [[payments, eq(payments.id, t.payment_id)]],
    where: and(idIn(t.id, ids), filterOnly(companyOwned(t, scope))),
    order: asc(t.id),
  });
  return rows.map((row) => ({ order: row.order, request: toSchemeOrder(row) }));
}

function toSchemeOrder({
  order,
  mandate,
  frequency,
  description,
}: {
  order: MandateOrder;
  mandate: Omit<SchemeOrder["mandate"], "frequency_mode">;
  frequency: Frequency;
  description: string | null;
}): SchemeOrder {
  const { order_no, kind, awaits, amount, submitted_at } = order;
  // An amendment names the terms as they would be afterwards.
  const wanted = order.amendment ?? {};
  return {
    order_no,
    kind,
    awaits,
    amount,
    submitted_at: instant(submitted_at),
    description,
    mandate: {
      ...mandate,
      max_amount: wanted.amount ?? mandate.max_amount,
      frequency_mode: modeOf(wanted.frequency ?? frequency),
      expiry_date: wanted.expiry_date ?? mandate.expiry_date,
    },
  };
}
