import { and, asc, eq, getTableColumns, getTableName, gt, inArray } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { apiKeyTable } from "../access/api_keys/tables.ts";
import { auditLogTable } from "../audit/tables.ts";
import { billingModelChangeTable } from "../billing/billing_model_changes/tables.ts";
import { billingRunTable } from "../billing/runs/tables.ts";
import { collectionRunTable } from "../emandate/collections/tables.ts";
import { mandateFlagTable } from "../emandate/flags/tables.ts";
import { debitHoldTable } from "../emandate/holds/tables.ts";
import { mandateEventTable, mandateTable } from "../emandate/mandates/tables.ts";
import { mandateOrderTable } from "../emandate/orders/tables.ts";
import { mandatePaymentTable } from "../emandate/payments/tables.ts";
import { idempotencyKeyTable } from "../idempotency/tables.ts";
import { loanApplicationTable } from "../loans/applications/tables.ts";
import { consentTable } from "../loans/consents/tables.ts";
import { loanDocumentTable } from "../loans/documents/tables.ts";
import type { TableDefinition } from "../store/columns.ts";
import { usageImportTable } from "../usage/import/tables.ts";
import { usageUploadRejectionTable, usageUploadTable } from "../usage/uploads/tables.ts";
import { usageViewTable } from "../usage/views/tables.ts";
import { webhookLogTable } from "../webhooks/deliveries/tables.ts";
import { selectRows } from "../store/select_rows.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { COLUMN_KINDS } from "./columns.ts";
import { type Scrub, scrubValue } from "./traces.ts";

type OwnedTable = PgTable & { id: PgColumn; company_id: PgColumn };

/** The tables with texts in which anybody may be named. */
export const TEXT_TABLES: readonly TableDefinition<OwnedTable>[] = [
  billingModelChangeTable,
  billingRunTable,
  usageImportTable,
  usageUploadTable,
  usageUploadRejectionTable,
  usageViewTable,
  auditLogTable,
  apiKeyTable,
  idempotencyKeyTable,
  webhookLogTable,
  mandateTable,
  mandateEventTable,
  mandatePaymentTable,
  collectionRunTable,
  mandateOrderTable,
  mandateFlagTable,
  debitHoldTable,
  loanApplicationTable,
  loanDocumentTable,
  consentTable,
];

type TextTable = (typeof TEXT_TABLES)[number];

/** Records that are looked through at once: some hundred kilobytes of text. */
const PAGE = 500;

/** A page of a table's texts: which of its records name somebody, and where the next page begins. */
export interface TextPage {
  readonly found: readonly number[];
  /** Null after the last page. */
  readonly next: number | null;
}

/** Looks through a page of the company's records of a table. */
export async function findTexts(
  tx: ReadTx,
  table: TextTable,
  { after_id, scrub }: { after_id: number; scrub: Scrub },
): Promise<TextPage> {
  const t = tx.q.use(table);
  const rows = await selectRows(tx.q, t, {
    columns: textColumns(tx, table),
    where: and(eq(t.company_id, tx.scope.company_id), gt(t.id, after_id)),
    order: asc(t.id),
    limit: PAGE,
  });
  const found = rows
    .filter((row) => Object.keys(scrubbed(row, scrub)).length > 0)
    .map((row) => Number(row["id"]));
  const last = rows.at(-1);
  return { found, next: rows.length === PAGE && last ? Number(last["id"]) : null };
}

/** Replaces what records say of people, by what they say now. */
export async function scrubTexts(
  tx: Tx,
  table: TextTable,
  { ids, scrub }: { ids: readonly number[]; scrub: Scrub },
): Promise<void> {
  const t = tx.q.use(table);
  const own = and(eq(t.company_id, tx.scope.company_id), inArray(t.id, [...ids]));
  for (const row of await selectRows(tx.q, t, { columns: textColumns(tx, table), where: own })) {
    const id = Number(row["id"]);
    const change = scrubbed(row, scrub);
    if (Object.keys(change).length === 0) continue;
    // A stored response is JSON in a text, and no repeat of an erased person's request is due.
    if ("answer" in change) change["answer"] = null;
    // A key is its owner's only one of that name.
    if ("key" in change) change["key"] = `${id} erased`;
    await tx.q.update(t).set(change).where(eq(t.id, id));
  }
}

/** What changes in a record. Its id is a number. */
function scrubbed(row: Record<string, unknown>, scrub: Scrub): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => {
      const after = scrubValue(value, scrub);
      return after === value ? [] : [[name, after]];
    }),
  );
}

function textColumns({ q }: ReadTx, table: TextTable): Record<string, PgColumn> {
  const t = q.use(table);
  const columns: Record<string, PgColumn> = getTableColumns(t);
  const names = COLUMN_KINDS[getTableName(t)]?.text ?? [];
  return {
    id: t.id,
    ...Object.fromEntries(names.flatMap((name) => (columns[name] ? [[name, columns[name]]] : []))),
  };
}
