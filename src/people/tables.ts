import { type ColumnKit, stamps } from "../store/columns.ts";
import { companyColumn } from "../tenancy/companies/tables.ts";
import type { Subject } from "./model.ts";
import type { Traces } from "./traces.ts";

/** Erasures of people: ids only. Decision 0207. */
export const personErasureTable = (k: ColumnKit) =>
  k.table(
    "person_erasures",
    {
      id: k.id(),
      ...companyColumn(k),
      status: k.enumeration("status", ["pending", "done"]).notNull(),
      subjects: k.jsonText<Subject[]>("subjects").notNull(),
      /** Records that lost what they said of them, deleted ones included. */
      records: k.integer("records").notNull(),
      /** What is still to be looked for. Null before it begins, and when it is done, since it names people. */
      traces: k.jsonText<Traces>("traces"),
      /** When its ids were written beside the backups; null where that is still to be done. */
      shipped_at: k.at("shipped_at"),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("person_erasures_status").on(t.status, t.company_id),
      k.index("person_erasures_unshipped").on(t.company_id, t.shipped_at),
    ],
  );
