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
      /** The principal: the id of a user or of an API key, which is never reused. */
      owner_kind: k.enumeration("owner_kind", ["user", "key"]).notNull().default("user"),
      owner_id: k.integer("owner_id").notNull(),
      method: k.text("method").notNull(),
      path: k.text("path").notNull(),
      key: k.text("key").notNull(),
      digest: k.text("digest").notNull(),
      state: k.enumeration("state", KEY_STATES).notNull(),
      /** Identifies the request that holds the claim; changes when another takes it over. */
      claim: k.text("claim").notNull(),
      /** The lease of a claim in progress. */
      lease_until: k.at("lease_until").notNull(),
      /** The record that was changed. */
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
