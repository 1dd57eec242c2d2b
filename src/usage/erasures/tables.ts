import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import type { ErasureQuery } from "../../usage_store/erasures.ts";

/** What an erasure goes by, as the usage store takes it. Gone when it is done, since it may name a person. */
export type ErasureConditions = Omit<ErasureQuery, "company_id" | "last_seq" | "keep">;

/** Erasures of usage metadata. Decision 0206. */
export const usageErasureTable = (k: ColumnKit) =>
  k.table(
    "usage_erasures",
    {
      id: k.id(),
      ...companyColumn(k),
      status: k.enumeration("status", ["pending", "done"]).notNull(),
      subscription_ids: k.jsonText<number[]>("subscription_ids"),
      metadata_keys: k.jsonText<string[]>("metadata_keys"),
      ids: k.integer("ids"),
      start_time: k.integer("start_time"),
      end_time: k.integer("end_time"),
      erased: k.integer("erased").notNull(),
      conditions: k.jsonText<ErasureConditions>("conditions"),
      /** The number up to which events are erased; null until it begins. */
      last_seq: k.integer("last_seq"),
      /** The metadata keys that stay, since meters read them; null where none does. */
      kept_keys: k.jsonText<string[]>("kept_keys"),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [k.index("usage_erasures_status").on(t.status, t.company_id)],
  );

/**
 * The ids of erased events, some thousands a row, written before the metadata goes: a restored store has it again, and
 * erases by them. `ids` is the UUIDs' bytes, 16 each, in Base64.
 */
export const usageErasedIdsTable = (k: ColumnKit) =>
  k.table(
    "usage_erased_ids",
    {
      id: k.id(),
      ...companyColumn(k),
      erasure_id: k.ref("erasure_id", usageErasureTable).notNull(),
      ids: k.text("ids").notNull(),
      count: k.integer("count").notNull(),
      /** When they were written beside the backups; null where that is still to be done. */
      shipped_at: k.at("shipped_at"),
      created_at: k.at("created_at").notNull(),
    },
    (t) => [
      k.index("usage_erased_ids_erasure").on(t.erasure_id),
      k.index("usage_erased_ids_unshipped").on(t.shipped_at),
    ],
  );
