import type { ColumnKit } from "../../store/columns.ts";
import type { CompanyTables } from "../companies/tables.ts";
import type { EventData } from "./model.ts";

export function eventTables(k: ColumnKit, { companies }: CompanyTables) {
  /** The outbox: a row is written in the transaction of the change that it tells of. */
  const events = k.table(
    "events",
    {
      id: k.id(),
      company_id: k
        .integer("company_id")
        .notNull()
        .references(() => companies.id),
      /** What receivers know it by, the same whoever is told and however often. */
      message_id: k.text("message_id").notNull(),
      type: k.text("type").notNull(),
      data: k.json<EventData>("data").notNull(),
      created_at: k.at("created_at").notNull(),
    },
    (t) => [
      k.index("events_company").on(t.company_id, t.id),
      k.uniqueIndex("events_message").on(t.message_id),
    ],
  );
  return { events };
}
