import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { type Download, createDownloadStream } from "../../core/download.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import { ExportUsage } from "./model.ts";
import { listExternalIds } from "../queries.ts";
import { compositeKey } from "../subscription_key.ts";
import { filterOf, assertIdsInScope } from "../search/filters.ts";
import type { ExportFormat } from "../../usage_store/port.ts";
import { readTx } from "../../app/transaction.ts";

export const MEDIA_TYPES: Record<ExportFormat, string> = {
  csv: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
};

/**
 * Streams all events that a search finds as a file, of one instant. A client user gets its own client's only. An error
 * in the middle breaks the stream off, so that a part never looks like the whole. Errors: forbidden for ids outside of
 * the scope, invalid for too much to sort by usage or for a Parquet file, rate_limited when too many exports run,
 * unavailable past the time limit. Decision 0046.
 */
export const exportUsage = operation({
  name: "export_usage",
  permission: "usage:read",
  audited: true,
  input: ExportUsage,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, input) {
    const { company_id } = scopeOf(ctx.actor);
    const [zones] = await Promise.all([listZones(readTx(ctx)), assertIdsInScope(ctx, input)]);
    const filter = await filterOf(ctx, input, zones);
    const keys = new Map<number, string>();
    for await (const page of listExternalIds(readTx(ctx))) {
      for (const { id, external_subscription_id } of page)
        keys.set(id, compositeKey(company_id, external_subscription_id));
    }
    const { format } = input;
    const query = { ...filter, format, sort: sortOf(input), keys };
    const limits = {
      timeout_ms: LIMITS.usage_export_ms,
      max_sorted: LIMITS.usage_export_sorted,
      max_file_bytes: LIMITS.usage_export_file_bytes,
      readRoom: () => ctx.guards.disk.readRoom(),
    };
    const body = await createDownloadStream(
      (write, signal) => ctx.usage.export(query, write, { ...limits, signal }),
      {
        idle_ms: SHARED_LIMITS.download_idle_ms,
        bytes_s: SHARED_LIMITS.download_bytes_s,
        onError: (error) => ctx.log.info({ err: error, request_id: ctx.request_id }, "export broken off"),
      },
    );
    const at = ctx.now.toString({ smallestUnit: "second" }).replaceAll(/[-:]/g, "");
    return { media_type: MEDIA_TYPES[format], filename: `usage-${at}.${format}`, body };
  },
});

/** Lines come in the search's order; Parquet is sorted on request only, as sorting delays all of it. */
function sortOf({ format, sort_by, sort_order }: ExportUsage) {
  if (format === "parquet" && sort_by === undefined && sort_order === undefined) return undefined;
  return { sort_by: sort_by ?? "timestamp", sort_order: sort_order ?? "desc" } as const;
}
