import { and, asc, eq, gt, gte, inArray, isNotNull, isNull, or, type SQL } from "drizzle-orm";
import { iso, type IsoInstant } from "../../core/time.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { filterOnly, idIn } from "../../store/expressions.ts";
import { matching } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { creditThresholdTable } from "./tables.ts";

/** The companies with subscriptions on credit plans that are active at `since` or later. */
export async function listCompaniesWithCredits(q: Reads, since: Temporal.Instant): Promise<number[]> {
  const t = q.use(subscriptionTable);
  const billing_models = q.use(billingModelTable);
  const rows = await q
    .selectDistinct({ company_id: t.company_id })
    .from(t)
    .innerJoin(billing_models, eq(billing_models.id, t.billing_model_id))
    .where(onCredits(q, since));
  return rows.map(({ company_id }) => company_id);
}

/** Subscriptions on credit plans that are active at `since` or later, by id, after `after_id`. */
export async function listCreditSubscriptions(
  { q, scope }: ReadTx,
  since: Temporal.Instant,
  { after_id, limit, client_id }: { after_id: number; limit: number; client_id?: number | undefined },
): Promise<number[]> {
  const t = q.use(subscriptionTable);
  const billing_models = q.use(billingModelTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    joins: [[billing_models, eq(billing_models.id, t.billing_model_id)]],
    where: and(
      matching(t, { company_id: scope.company_id, client_id: scope.client_id }),
      matching(t, { client_id }),
      gt(t.id, after_id),
      onCredits(q, since),
    ),
    order: asc(t.id),
    limit,
  });
  return rows.map(({ id }) => id);
}

function onCredits(q: Reads, since: Temporal.Instant): SQL | undefined {
  const t = q.use(subscriptionTable);
  const billing_models = q.use(billingModelTable);
  return and(isNotNull(billing_models.credit_plan), or(isNull(t.ends_at), gt(t.ends_at, iso(since))));
}

/** What people call a subscription and its client. */
export interface CreditNames {
  id: number;
  subscription_name: string;
  external_subscription_id: string;
  client_id: number;
  client_name: string;
}

/** The names of subscriptions and their clients, by subscription id. */
export async function listCreditNames(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<Map<number, CreditNames>> {
  const t = q.use(subscriptionTable);
  const clients = q.use(clientTable);
  const { id, name: subscription_name, external_subscription_id, client_id } = t;
  const rows = await selectRows(q, t, {
    columns: { id, subscription_name, external_subscription_id, client_id, client_name: clients.name },
    joins: [[clients, eq(clients.id, t.client_id)]],
    where: and(idIn(t.id, ids), filterOnly(eq(t.company_id, scope.company_id))),
  });
  return new Map(rows.map((row) => [row.id, row]));
}

/** A threshold that a month's credits have reached. */
export interface ReachedThreshold {
  subscription_id: number;
  /** The start of the billing month. */
  month_start: IsoInstant;
  /** In percent. */
  threshold: number;
}

/** The recorded thresholds of months that start at `since` or later, in the order of recording. */
export async function listRecordedThresholds(
  { q, scope }: ReadTx,
  subscription_ids: readonly number[],
  since: IsoInstant,
): Promise<ReachedThreshold[]> {
  const t = q.use(creditThresholdTable);
  const { subscription_id, month_start, threshold } = t;
  return selectRows(q, t, {
    columns: { subscription_id, month_start, threshold },
    where: and(
      eq(t.company_id, scope.company_id),
      inArray(subscription_id, [...subscription_ids]),
      gte(month_start, since),
    ),
    order: asc(t.id),
  });
}

/** Inserts reached thresholds, and returns those that were not recorded before. */
export async function insertThresholds(
  { q, scope, now }: Tx,
  rows: readonly ReachedThreshold[],
): Promise<ReachedThreshold[]> {
  const t = q.use(creditThresholdTable);
  const { subscription_id, month_start, threshold } = t;
  const written = await q
    .insert(t)
    .values(rows.map((row) => ({ ...row, company_id: scope.company_id, created_at: iso(now) })))
    .onConflictDoNothing({ target: [subscription_id, month_start, threshold] })
    .returning({ id: t.id, subscription_id, month_start, threshold });
  return written.toSorted((a, b) => a.id - b.id);
}
