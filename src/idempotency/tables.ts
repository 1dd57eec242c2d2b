import type { StoredResponse } from "../app/claim.ts";
import type { ColumnKit } from "../store/columns.ts";
import { companyColumn } from "../tenancy/companies/tables.ts";
import { KEY_STATES } from "./model.ts";

export const idempotencyKeyTable = (k: ColumnKit) =>
  k.table(
    "idempotency_keys",
    {
      id: k.id(),
      ...companyColumn(k),
      /** Whose it is: the id of a user or of an API key, which is never handed out again. */
      owner_kind: k.enumeration("owner_kind", ["user", "key"]).notNull().default("user"),
      owner_id: k.integer("owner_id").notNull(),
      method: k.text("method").notNull(),
      path: k.text("path").notNull(),
      key: k.text("key").notNull(),
      digest: k.text("digest").notNull(),
      state: k.enumeration("state", KEY_STATES).notNull(),
      /** Names the one request that works on it: another one that took it over has another. */
      claim: k.text("claim").notNull(),
      /** Until when a claim that is in progress is believed to be alive. */
      lease_until: k.at("lease_until").notNull(),
      /** What the change was made to. */
      target_type: k.text("target_type"),
      target_id: k.integer("target_id"),
      answer: k.json<StoredResponse>("answer"),
      expires_at: k.at("expires_at").notNull(),
    },
    (t) => [
      k.uniqueIndex("idempotency_keys_request").on(t.owner_kind, t.owner_id, t.method, t.path, t.key),
      k.index("idempotency_keys_expiry").on(t.company_id, t.expires_at),
    ],
  );
