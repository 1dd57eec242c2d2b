import { sql } from "drizzle-orm";
import type { ColumnKit } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import type { EventData } from "./model.ts";

/** The outbox: domain events, each written in the transaction of its change. */
export const eventTable = (k: ColumnKit) =>
  k.table(
    "events",
    {
      id: k.id(),
      ...companyColumn(k),
      /** The id that receivers deduplicate by: the same for every endpoint and attempt. */
      message_id: k.text("message_id").notNull(),
      type: k.text("type").notNull(),
      /** The record in whose history it is: `subscription:7`. */
      subject: k.text("subject"),
      data: k.json<EventData>("data").notNull(),
      created_at: k.at("created_at").notNull(),
      /** When the deliveries to its subscribers were inserted; null until then. */
      fanned_out_at: k.at("fanned_out_at"),
    },
    (t) => [
      k.index("events_company").on(t.company_id, t.id),
      k.index("events_type").on(t.company_id, t.type, t.id),
      k.index("events_subject").on(t.company_id, t.subject, t.id).where(sql`subject IS NOT NULL`),
      k.uniqueIndex("events_message").on(t.message_id),
      k.index("events_fresh").on(t.id).where(sql`fanned_out_at IS NULL`),
    ],
  );
