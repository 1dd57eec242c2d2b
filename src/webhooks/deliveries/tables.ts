import { sql } from "drizzle-orm";
import { ENVIRONMENTS } from "../../core/access.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { webhookTable } from "../endpoints/tables.ts";
import type { WebhookAttempt, WebhookPayload } from "./model.ts";

export const webhookLogTable = (k: ColumnKit) =>
  k.table(
    "webhook_logs",
    {
      id: k.id(),
      ...companyColumn(k),
      endpoint_id: k.ref("endpoint_id", webhookTable).notNull(),
      message_id: k.text("message_id").notNull(),
      event_type: k.text("event_type").notNull(),
      /** The environment of an event about loans; null for all others. */
      environment: k.enumeration("environment", ENVIRONMENTS),
      url: k.text("url").notNull(),
      payload: k.json<WebhookPayload>("payload").notNull(),
      status: k.enumeration("status", ["pending", "succeeded", "failed"]).notNull(),
      /** The step of the retry schedule that it has reached. */
      step: k.integer("step").notNull(),
      attempts: k.json<WebhookAttempt[]>("attempts").notNull(),
      next_attempt_at: k.at("next_attempt_at"),
      /** When a dispatcher may lease it: at its next attempt, or when a lease ends; null once it has ended. */
      due_at: k.at("due_at"),
      /** The dispatcher that holds the lease. */
      claimed_by: k.text("claimed_by"),
      ...stamps(k),
    },
    (t) => [
      // A message reaches each endpoint once, even if its event is fanned out twice.
      k.uniqueIndex("webhook_logs_message").on(t.endpoint_id, t.message_id),
      k.index("webhook_logs_company").on(t.company_id, t.id),
      k
        .index("webhook_logs_environment")
        .on(t.company_id, t.environment, t.id)
        .where(sql`environment IS NOT NULL`),
      k.index("webhook_logs_failed").on(t.company_id, t.id).where(sql`status = 'failed'`),
      k.index("webhook_logs_due").on(t.endpoint_id, t.due_at).where(sql`due_at IS NOT NULL`),
    ],
  );
