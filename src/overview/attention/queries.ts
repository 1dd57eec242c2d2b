import { and, desc, eq, gt, inArray, isNotNull, isNull, or } from "drizzle-orm";
import { alertTable } from "../../billing/features/alert_tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { groupDigits } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import { mandateFlagTable } from "../../emandate/flags/tables.ts";
import { mandatePaymentTable } from "../../emandate/payments/tables.ts";
import { alertFiringTable } from "../../entitlements/alerts/tables.ts";
import { loanApplicationTable } from "../../loans/applications/tables.ts";
import { listRows } from "../../store/list_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { webhookLogTable } from "../../webhooks/deliveries/tables.ts";
import { webhookTable } from "../../webhooks/endpoints/tables.ts";
import { LIMITS } from "../limits.ts";
import type { Look, Looked } from "./look.ts";

// What needs a person about debits, webhooks, limits and loans.

const FEW = { limit: LIMITS.attention_newest, offset: 0 };

/** What failed before this is no longer news. */
const recentFrom = ({ now }: ReadTx) => iso(now.subtract({ hours: 24 * LIMITS.attention_days }));

/** Debits and mandates whose result could not be applied. */
export const lookForFlags: Look = async ({ q, scope }) => {
  const t = q.use(mandateFlagTable);
  const { rows, total } = await listRows(q, t, {
    columns: { id: t.id, reason: t.reason, message: t.message, at: t.created_at },
    where: and(eq(t.company_id, scope.company_id), isNull(t.resolved_at)),
    order: desc(t.id),
    slice: FEW,
  });
  const newest = rows.map(({ id, reason, message, at }) => ({
    id,
    at,
    text: [reason.replaceAll("_", " "), ...(message === null ? [] : [message])].join(": "),
    path: `/emandate/flags/${id}`,
  }));
  return { count: total, newest, path: "/emandate/flags?status=open" };
};

/** Debits that failed for good, or were charged back, lately, and were not forgiven. */
export const lookForFailedDebits: Look = async (tx) => {
  const { q, scope } = tx;
  const t = q.use(mandatePaymentTable);
  const { rows, total } = await listRows(q, t, {
    columns: { id: t.id, message: t.response_message, at: t.updated_at },
    where: and(
      eq(t.company_id, scope.company_id),
      inArray(t.status, ["failed", "charged_back"]),
      isNull(t.forgiven_at),
      gt(t.updated_at, recentFrom(tx)),
    ),
    order: desc(t.id),
    slice: FEW,
  });
  const newest = rows.map(({ id, message, at }) => ({
    id,
    at,
    text: message ?? "",
    path: `/emandate/payments/${id}`,
  }));
  return { count: total, newest, path: "/emandate/payments?status=failed" };
};

/** Webhook endpoints that were switched off. */
export const lookForDisabledWebhooks: Look = async ({ q, scope }) => {
  const t = q.use(webhookTable);
  const { rows, total } = await listRows(q, t, {
    columns: { id: t.id, url: t.url, reason: t.disabled_reason, at: t.updated_at },
    where: and(
      eq(t.company_id, scope.company_id),
      isNull(t.deleted_at),
      eq(t.status, "disabled"),
      isNotNull(t.disabled_reason),
    ),
    order: desc(t.id),
    slice: FEW,
  });
  const newest = rows.map(({ id, url, reason, at }) => ({
    id,
    at,
    text: `${url}: ${reason ?? ""}`,
    path: `/webhooks/${id}`,
  }));
  return { count: total, newest, path: "/webhooks" };
};

/** Deliveries that were given up lately. */
export const lookForFailedDeliveries: Look = async (tx) => {
  const { q, scope } = tx;
  const t = q.use(webhookLogTable);
  const { rows, total } = await listRows(q, t, {
    columns: { id: t.id, url: t.url, event_type: t.event_type, at: t.updated_at },
    where: and(eq(t.company_id, scope.company_id), eq(t.status, "failed"), gt(t.updated_at, recentFrom(tx))),
    order: desc(t.id),
    slice: FEW,
  });
  const newest = rows.map(({ id, url, event_type, at }) => ({
    id,
    at,
    text: `${event_type} to ${url}`,
    path: `/webhook-logs/${id}`,
  }));
  return { count: total, newest, path: "/webhook-logs?status=failed" };
};

/** Limits that are used up now. */
export const lookForLimits: Look = (tx) => lookForFirings(tx, "limit");

/** Alerts whose thresholds were reached, of windows that run. */
export const lookForAlerts: Look = (tx) => lookForFirings(tx, "alert");

async function lookForFirings({ q, scope, now }: ReadTx, of: "limit" | "alert"): Promise<Looked> {
  const t = q.use(alertFiringTable);
  const subscriptions = q.use(subscriptionTable);
  const alerts = q.use(alertTable);
  const { rows, total } = await listRows(q, t, {
    columns: {
      id: t.id,
      subscription_id: t.subscription_id,
      name: subscriptions.name,
      alert: alerts.name,
      threshold: t.threshold,
      limit: t.limit,
      value: t.value,
      at: t.at,
    },
    joins: [[subscriptions, eq(subscriptions.id, t.subscription_id)]],
    left_joins: [[alerts, eq(alerts.id, t.alert_id)]],
    where: and(
      eq(t.company_id, scope.company_id),
      (of === "limit" ? isNull : isNotNull)(t.alert_id),
      or(isNull(t.window_end), gt(t.window_end, iso(now))),
    ),
    order: desc(t.id),
    slice: FEW,
  });
  const newest = rows.map(({ subscription_id, name, alert, threshold, limit, value, at, id }) => ({
    id,
    at,
    // The threshold of a limit is percents of it.
    text: `${name}: ${alert === null ? "" : `${alert}, `}${groupDigits(value)} of ${groupDigits(limit ?? threshold)}`,
    path: `/subscriptions/${subscription_id}`,
  }));
  return { count: total, newest, path: of === "alert" ? "/alerts" : null };
}

/** Loan applications that wait for the lender, in production. */
export const lookForApplications: Look = async ({ q, scope }) => {
  const t = q.use(loanApplicationTable);
  const { rows, total } = await listRows(q, t, {
    columns: {
      id: t.id,
      reference: t.reference,
      name: t.borrower_name,
      at: t.submitted_at,
      created_at: t.created_at,
    },
    where: and(
      eq(t.company_id, scope.company_id),
      eq(t.environment, "production"),
      isNull(t.deleted_at),
      inArray(t.status, ["submitted", "under_review"]),
    ),
    order: desc(t.id),
    slice: FEW,
  });
  const newest = rows.map(({ id, reference, name, at, created_at }) => ({
    id,
    at: at ?? created_at,
    text: `${reference}: ${name}`,
    path: `/lending/production/applications/${id}`,
  }));
  return { count: total, newest, path: "/lending/production/applications" };
};
