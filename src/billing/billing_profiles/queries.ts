import { and, asc, eq, isNotNull } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { columnsOf, findRow, matching } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { BillingProfile } from "./model.ts";
import { billingProfileTable } from "./tables.ts";

const profileColumns = (q: Reads) => columnsOf(q.use(billingProfileTable), BillingProfile);

export function findBillingProfile(
  { q, scope: { company_id } }: ReadTx,
  client_id: number,
): Promise<BillingProfile | undefined> {
  const t = q.use(billingProfileTable);
  return findRow(q, t, { columns: profileColumns(q), where: matching(t, { company_id, client_id }) });
}

/** Writes a client's billing profile in place of the one before. */
export async function saveBillingProfile(
  { q, scope: { company_id }, now }: Tx,
  profile: BillingProfile,
): Promise<BillingProfile> {
  const t = q.use(billingProfileTable);
  const { interim_at, currency } = profile;
  const rows = await q
    .insert(t)
    .values({ ...profile, company_id, ...stamped(now) })
    .onConflictDoUpdate({ target: t.client_id, set: { interim_at, currency, updated_at: iso(now) } })
    .returning(profileColumns(q));
  return exactlyOne(rows);
}

/** A subscription whose client is billed when its usage has cost so much. */
export interface InterimSubscription {
  id: number;
  client_id: number;
  interim_at: string;
  currency: string;
}

/** The subscriptions of clients with an interim_at that have not ended, by client. */
export async function listInterimSubscriptions(tx: ReadTx): Promise<InterimSubscription[]> {
  const { company_id } = tx.scope;
  const profiles = tx.q.use(billingProfileTable);
  const t = tx.q.use(subscriptionTable);
  const { client_id, interim_at, currency } = profiles;
  const rows = await selectRows(tx.q, t, {
    columns: { id: t.id, client_id, interim_at, currency, ends_at: t.ends_at },
    joins: [[profiles, eq(client_id, t.client_id)]],
    where: and(eq(t.company_id, company_id), eq(profiles.company_id, company_id), isNotNull(interim_at)),
    order: [asc(client_id), asc(t.id)],
  });
  return rows.flatMap(({ ends_at, interim_at: amount, ...row }) =>
    amount === null || (ends_at !== null && ends_at <= iso(tx.now)) ? [] : [{ ...row, interim_at: amount }],
  );
}
