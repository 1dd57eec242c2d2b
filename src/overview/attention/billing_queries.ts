import { and, desc, eq, gt, lte, type SQL } from "drizzle-orm";
import { billingModelChangeTable } from "../../billing/billing_model_changes/tables.ts";
import { creditThresholdTable } from "../../billing/credits/tables.ts";
import { billingRunTable, unbilledUsageTable } from "../../billing/runs/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { groupDigits } from "../../core/money.ts";
import { periodContaining } from "../../core/periods.ts";
import { iso } from "../../core/time.ts";
import { findRow, listRows } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import { LIMITS } from "../limits.ts";
import type { Look, Looked } from "./look.ts";

// What needs a person about bills.

const FEW = { limit: LIMITS.attention_newest, offset: 0 };
const pathOf = (subscription_id: number) => `/subscriptions/${subscription_id}`;

/** What the newest billing run could not bill. */
export const lookForFailedBilling: Look = async ({ q, scope }) => {
  const t = q.use(billingRunTable);
  const run = await findRow(q, t, {
    columns: { id: t.id, counts: t.counts, errors: t.errors, at: t.updated_at },
    where: and(eq(t.company_id, scope.company_id), eq(t.dry_run, false)),
    order: desc(t.id),
    limit: 1,
  });
  if (run === undefined) return { count: 0, newest: [], path: null };
  const path = `/billing-runs/${run.id}`;
  const newest = run.errors.slice(0, LIMITS.attention_newest).map(({ subscription_id, message }) => ({
    id: subscription_id ?? run.id,
    at: run.at,
    text: message,
    path: subscription_id === null ? path : pathOf(subscription_id),
  }));
  return { count: run.counts.failed, newest, path };
};

/** Usage that no bill counts. */
export const lookForUnbilledUsage: Look = async ({ q, scope }) => {
  const t = q.use(unbilledUsageTable);
  const { id, subscription_id, reason, units, updated_at: at } = t;
  const { rows, total } = await listRows(q, t, {
    columns: { id, subscription_id, reason, units, at },
    where: eq(t.company_id, scope.company_id),
    order: desc(t.id),
    slice: FEW,
  });
  const newest = rows.map((row) => ({
    id: row.id,
    at: row.at,
    text: `${groupDigits(row.units)} units, ${row.reason === "late" ? "late" : "after the subscription's end"}`,
    path: pathOf(row.subscription_id),
  }));
  return { count: total, newest, path: "/unbilled-usage" };
};

/** Plan changes that are due and could not be applied. */
export const lookForFailedChanges: Look = async ({ q, scope, now }) => {
  const t = q.use(billingModelChangeTable);
  const { id, subscription_id, last_error, effective_at: at } = t;
  const { rows, total } = await listRows(q, t, {
    columns: { id, subscription_id, last_error, at },
    where: and(
      eq(t.company_id, scope.company_id),
      eq(t.status, "scheduled"),
      lte(t.effective_at, iso(now)),
      gt(t.attempts, 0),
    ),
    order: desc(t.effective_at),
    slice: FEW,
  });
  const newest = rows.map((row) => ({
    id: row.id,
    at: row.at,
    text: row.last_error ?? "",
    path: `${pathOf(row.subscription_id)}/billing-model-changes`,
  }));
  return { count: total, newest, path: null };
};

/** A month has fewer hours than this, whatever its zone does. */
const MONTH_AT_MOST = { hours: 32 * 24 };

/** Subscriptions whose credits of the running month have reached a threshold, and no higher one. */
export function lookForCredits(threshold: 80 | 100): Look {
  return async ({ q, scope, now }, zones): Promise<Looked> => {
    const t = q.use(creditThresholdTable);
    const subscriptions = q.use(subscriptionTable);
    const recent: SQL | undefined = and(
      eq(t.company_id, scope.company_id),
      gt(t.month_start, iso(now.subtract(MONTH_AT_MOST))),
    );
    const { id: subscription_id, name, billing_anchor_day } = subscriptions;
    const rows = await selectRows(q, t, {
      columns: {
        subscription_id,
        name,
        billing_anchor_day,
        month_start: t.month_start,
        threshold: t.threshold,
        at: t.created_at,
      },
      joins: [[subscriptions, eq(subscriptions.id, t.subscription_id)]],
      where: recent,
      order: desc(t.id),
    });
    const starts = new Map<number, string>();
    const startOf = (anchor_day: number) => {
      const start = starts.get(anchor_day) ?? iso(periodContaining(now, anchor_day, zones).from);
      starts.set(anchor_day, start);
      return start;
    };
    const running = rows.filter((row) => row.month_start === startOf(row.billing_anchor_day));
    const used_up = new Set(running.filter((row) => row.threshold === 100).map((row) => row.subscription_id));
    const reached = running.filter(
      (row) => row.threshold === threshold && (threshold === 100 || !used_up.has(row.subscription_id)),
    );
    const newest = reached.slice(0, LIMITS.attention_newest).map((row) => ({
      id: row.subscription_id,
      at: row.at,
      text: row.name,
      path: pathOf(row.subscription_id),
    }));
    return { count: reached.length, newest, path: `/credits?reached=${threshold}` };
  };
}
