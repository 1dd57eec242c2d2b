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
      /** In which world it happened; null where there is but one. */
      environment: k.enumeration("environment", ENVIRONMENTS),
      url: k.text("url").notNull(),
      payload: k.json<WebhookPayload>("payload").notNull(),
      status: k.enumeration("status", ["pending", "succeeded", "failed"]).notNull(),
      /** How many attempts of the schedule were made. */
      step: k.integer("step").notNull(),
      attempts: k.json<WebhookAttempt[]>("attempts").notNull(),
      next_attempt_at: k.at("next_attempt_at"),
      /** From when on a dispatcher may claim it: its next attempt, or the end of a claim; null: never. */
      due_at: k.at("due_at"),
      /** The dispatcher that is at it. */
      claimed_by: k.text("claimed_by"),
      ...stamps(k),
    },
    (t) => [
      // However often an event is fanned out, each endpoint gets its message once.
      k.uniqueIndex("webhook_logs_message").on(t.endpoint_id, t.message_id),
      k.index("webhook_logs_company").on(t.company_id, t.id),
      k
        .index("webhook_logs_environment")
        .on(t.company_id, t.environment, t.id)
        .where(sql`environment IS NOT NULL`),
      k.index("webhook_logs_due").on(t.endpoint_id, t.due_at).where(sql`due_at IS NOT NULL`),
    ],
  );
