import { operation } from "../app/operation.ts";
import { retention } from "../app/retention.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { invalid, orNotFound } from "../core/errors.ts";
import { pagedList } from "../core/pagination.ts";
import { ById, paged } from "../core/schema.ts";
import { AuditEntry, ListAuditEntries } from "./model.ts";
import * as queries from "./queries.ts";
import { readTx } from "../app/transaction.ts";

/** Lists audit entries, newest first. Errors: invalid for a target_id without its type. Decision 0075. */
export const listAuditEntries = operation({
  name: "list_audit_entries",
  permission: "audit:read",
  input: ListAuditEntries,
  output: paged(AuditEntry),
  async run(ctx, { page, limit, ...filter }) {
    if (filter.target_id !== undefined && filter.target_type === undefined)
      throw invalid("/target_type", "is required with target_id");
    return pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listEntries(readTx(ctx), filter, slice),
    );
  },
});

/** Finds one entry of the audit log. Errors: not_found. */
export const getAuditEntry = operation({
  name: "get_audit_entry",
  permission: "audit:read",
  input: ById,
  output: AuditEntry,
  async run(ctx, { id }) {
    return orNotFound(await queries.findEntry(readTx(ctx), id), "Audit log entry", id);
  },
});

/** Deletes entries older than AUDIT_LOG_DAYS, in batches. Decision 0075. */
export const pruneAuditLog = retention({
  name: "prune_audit_log",
  permission: "company:write",
  deletions: [
    (tx, limit, { audit_log_days }) =>
      queries.deleteEntriesBefore(tx, tx.now.subtract({ hours: 24 * audit_log_days }), limit),
  ],
});
