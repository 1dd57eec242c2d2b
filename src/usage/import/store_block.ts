import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { interleave } from "../../core/chunk.ts";
import { LIMITS } from "../limits.ts";
import { Nothing } from "../../core/schema.ts";
import { parseObject, rejectedRows, toIngestEvent, writeDerivedId } from "./rows.ts";
import { countStored } from "../metrics.ts";
import { RESERVED_ELSEWHERE, reservedBy } from "../ingest/reserved.ts";
import { storeFresh } from "../ingest/store_fresh.ts";
import { resolveEvents } from "../ingest/resolve_events.ts";
import { type FileRow, ImportedUsage, ImportUsage, type RejectedRow } from "./model.ts";
import { digestOf } from "./source.ts";
import { findMeteredSubscriptions } from "../ingest/queries.ts";
import { saveUsageImport } from "./queries.ts";
import { type Problem, readMetadata } from "../ingest/validate_events.ts";
import { externalIdOf } from "../subscription_key.ts";
import { type EventRows, ROW } from "../../usage_store/event_rows.ts";
import type { NewEvent } from "../../usage_store/port.ts";

/**
 * Does for a block of a file's rows what can be done before any is stored, while the block before is. A row without an
 * id gets one derived from the file's content and the row's number, so that a file, or the beginning of one that has
 * grown, is stored once. Decision 0163.
 */
export const stageUsageImport = operation({
  name: "stage_usage_import",
  permission: "usage:write",
  input: ImportUsage,
  output: Nothing,
  async run(ctx, input) {
    const { company_id } = scopeOf(ctx.actor);
    await deriveIds(ctx, input);
    await skipOutOfRangeRows(ctx, input);
    skipReservedRows(ctx, input);
    await writeNonCanonicalMetadata(input.block);
    await ctx.usage.stage(company_id, input.block);
    return {};
  },
});

/**
 * Stores a staged block by the rules of ingest, each row on its own: broken ones are returned as rejected. Errors:
 * unavailable when the commit fails. Decision 0047.
 */
export const importUsage = operation({
  name: "import_usage",
  permission: "usage:write",
  input: ImportUsage,
  output: ImportedUsage,
  async run(ctx, input) {
    const { block } = input;
    const { company_id } = scopeOf(ctx.actor);
    const { left, ...loaded } = await ctx.usage.load(company_id, block, ctx.now.epochMilliseconds);
    const total = { ...loaded, rejected: new Array<RejectedRow>() };
    const skipped = [...left, ...block.rowsThat(ROW.skipped)].toSorted((a, b) => a - b);
    for await (const batch of interleave(skipped, LIMITS.usage_import_slice)) {
      const rows = batch.map((row) => fileRow(input, row));
      const { accepted, duplicates, rejected } = await storeRowByRow(ctx, input.subscription_field, rows);
      total.accepted += accepted;
      total.duplicates += duplicates;
      total.rejected.push(...rejected);
    }
    countStored(total, total.rejected.length);
    return total;
  },
});

/**
 * Judges a block by the rules of `importUsage` and stores nothing. `accepted` counts the rows that would be stored, or are
 * duplicates of stored ones; a row outside of its subscription's life, which may be a repeat, is rejected. Decision 0295.
 */
export const checkUsageImport = operation({
  name: "check_usage_import",
  permission: "usage:write",
  unaudited: true,
  input: ImportUsage,
  output: ImportedUsage,
  async run(ctx, input) {
    const { block } = input;
    await skipOutOfRangeRows(ctx, input);
    skipReservedRows(ctx, input);
    await writeNonCanonicalMetadata(block);
    const rejected: RejectedRow[] = [];
    for await (const batch of interleave(block.rowsThat(ROW.skipped), LIMITS.usage_import_slice)) {
      const rows = batch.map((row) => fileRow(input, row));
      const read = await readRowByRow(ctx, input.subscription_field, rows);
      const outside = read.free.flatMap(({ only_if_stored }, i) =>
        only_if_stored === undefined
          ? []
          : [{ position: read.free_positions[i] ?? 0, field: "timestamp", message: only_if_stored }],
      );
      rejected.push(...rejectionsOf(read, outside));
    }
    return { accepted: block.rows - rejected.length, duplicates: 0, rejected };
  },
});

/** Derives the ids of rows without one, and records the content that they derive from. */
async function deriveIds(
  { unaudited_store, actor, now }: Context,
  { block, source }: ImportUsage,
): Promise<void> {
  const rows = block.rowsThat(ROW.without_id);
  if (rows.length === 0) return;
  const file = await source();
  const { file_name, digest, bytes } = file;
  // Before they are stored: a record of more rows than are stored does no harm.
  const last_row = block.first_row + block.rows - 1;
  if (file_name !== null)
    await unaudited_store.tx((q) =>
      saveUsageImport({ q, scope: scopeOf(actor), now }, { file_name, digest, bytes, rows: last_row }),
    );
  const ids_by_key = new Map<string, Uint8Array>();
  for (const row of rows) {
    const hex = digestOf(file, block.first_row + row);
    const content = ids_by_key.get(hex) ?? Buffer.from(hex, "hex");
    ids_by_key.set(hex, content);
    writeDerivedId(block.ids, row * 4, content, block.first_row + row);
  }
}

/** Resolves the rows' subscriptions, and skips rows outside of their lives, which may be repeats, or of closed usage. */
async function skipOutOfRangeRows(ctx: Context, input: ImportUsage): Promise<void> {
  const { block } = input;
  const { ids, starts_ms, ends_ms } = await findSubscriptionPeriods(ctx, input);
  const since_ms = ctx.usage.sinceOf(scopeOf(ctx.actor).company_id);
  const until_ms = ctx.now.epochMilliseconds + LIMITS.usage_future_ms;
  for (let row = 0; row < block.rows; row++) {
    if (block.is(row, ROW.skipped)) continue;
    const number = block.subscriptions[row] ?? 0;
    const timestamp = block.timestamps[row] ?? 0;
    block.subscription_ids[row] = ids[number] ?? 0;
    const is_inside = timestamp >= (starts_ms[number] ?? 0) && timestamp < (ends_ms[number] ?? 0);
    if (!is_inside || timestamp < since_ms || timestamp > until_ms) block.skip(row);
  }
}

/** Skips rows under the id of a reservation: they are stored one by one, as ingest does. Where nothing is reserved it costs nothing. */
function skipReservedRows({ limits, actor }: Context, { block }: ImportUsage): void {
  const { company_id } = scopeOf(actor);
  if (limits.count(company_id) === 0) return;
  for (let row = 0; row < block.rows; row++)
    if (!block.is(row, ROW.skipped) && limits.find(company_id, block.idOf(row)) !== undefined)
      block.skip(row);
}

/** The lives of the block's subscriptions, by index; unknown ones have none. */
async function findSubscriptionPeriods(
  { store, actor }: Context,
  { block, keys, subscription_field }: ImportUsage,
) {
  const { company_id } = scopeOf(actor);
  const named = new Uint8Array(keys.length);
  for (let row = 0; row < block.rows; row++) named[block.subscriptions[row] ?? -1] = 1;
  const numbers = new Map<string, number>();
  for (const [number, key] of keys.entries()) {
    if (named[number] !== 1) continue;
    const external_id = subscription_field === "subscription_id" ? externalIdOf(company_id, key) : key;
    if (external_id !== undefined) numbers.set(external_id, number);
  }
  const found = await findMeteredSubscriptions(store.read, company_id, [...numbers.keys()]);
  const periods = {
    ids: new Int32Array(keys.length),
    starts_ms: new Float64Array(keys.length),
    ends_ms: new Float64Array(keys.length),
  };
  for (const [external_id, subscription] of found) {
    const number = numbers.get(external_id);
    if (number === undefined) continue;
    periods.ids[number] = subscription.id;
    periods.starts_ms[number] = subscription.starts_ms;
    periods.ends_ms[number] = subscription.ends_ms ?? Number.POSITIVE_INFINITY;
  }
  return periods;
}

/** Rewrites metadata in canonical form where the file may have another. */
async function writeNonCanonicalMetadata(block: EventRows): Promise<void> {
  const rows = block.rowsThat(ROW.non_canonical_metadata);
  for await (const batch of interleave(rows, LIMITS.usage_import_slice)) {
    for (const row of batch) if (!block.is(row, ROW.skipped)) writeMetadata(block, row);
  }
}

function writeMetadata(block: EventRows, row: number): void {
  const object = parseObject(block.metadataOf(row) ?? "null");
  const { json, problem } = object ? readMetadata(object) : { json: null };
  if (object === undefined || problem !== undefined) block.skip(row);
  else block.setMetadata(row, json);
}

/** A row of the block as texts. */
function fileRow({ block, keys }: ImportUsage, row: number): FileRow {
  const number = block.first_row + row;
  if (block.is(row, ROW.unparsed)) {
    const texts: unknown = JSON.parse(block.metadataOf(row) ?? "[]");
    const [problem, id, subscription, timestamp, usage, metadata] = Array.isArray(texts)
      ? texts.map((text) => (typeof text === "string" ? text : null))
      : [];
    return {
      row: number,
      problem: problem ?? null,
      id: id ?? block.idOf(row),
      subscription: subscription ?? null,
      timestamp: timestamp ?? null,
      usage: usage ?? null,
      metadata: metadata ?? null,
    };
  }
  return {
    row: number,
    problem: null,
    id: block.idOf(row),
    subscription: keys[block.subscriptions[row] ?? -1] ?? null,
    timestamp: String(block.timestamps[row]),
    usage: block.usageOf(row),
    metadata: block.metadataOf(row),
  };
}

/** Validates rows one by one, and stores them. */
async function storeRowByRow(
  ctx: Context,
  subscription_field: ImportUsage["subscription_field"],
  rows: readonly FileRow[],
): Promise<ImportedUsage> {
  const read = await readRowByRow(ctx, subscription_field, rows);
  const { free, free_positions, settled } = read;
  const { company_id } = scopeOf(ctx.actor);
  const stored = await storeFresh(ctx.usage, company_id, free, ctx.now.epochMilliseconds);
  const refused_ids = new Set(stored.refused.map(({ position }) => free[position]?.id));
  ctx.limits.settle(
    company_id,
    settled.filter((id) => !refused_ids.has(id)),
  );
  const refused = stored.refused.map((problem) => ({
    ...problem,
    position: free_positions[problem.position] ?? 0,
  }));
  return {
    accepted: stored.accepted,
    duplicates: stored.duplicates,
    rejected: rejectionsOf(read, refused),
  };
}

/** Rows that were validated one by one. */
interface RowsRead {
  /** Rows that can't be read at all. */
  unreadable: RejectedRow[];
  /** The number of the row at each position of those that can. */
  row_of: number[];
  problems: Problem[];
  /** The events that nobody reserved, and their positions. */
  free: NewEvent[];
  free_positions: number[];
  /** Ids of reservations that the events settle. */
  settled: string[];
}

/** Validates rows one by one. */
async function readRowByRow(
  ctx: Context,
  subscription_field: ImportUsage["subscription_field"],
  rows: readonly FileRow[],
): Promise<RowsRead> {
  const raws = rows.map((row) => toIngestEvent(row, subscription_field));
  const readable = raws.flatMap(({ raw }) => (raw === undefined ? [] : [raw]));
  const limits = { usage_as_text: true, max_problems: Number.POSITIVE_INFINITY };
  const { events, positions, problems } = await resolveEvents(ctx, readable, limits);
  const { settled, foreign } = reservedBy(ctx, scopeOf(ctx.actor).company_id, events);
  const reserved = [...foreign].map((position) => ({
    position: positions[position] ?? 0,
    field: "id",
    message: RESERVED_ELSEWHERE,
  }));
  return {
    unreadable: raws.flatMap(({ row, reason }): RejectedRow[] =>
      reason === undefined ? [] : [{ row, reason }],
    ),
    row_of: raws.flatMap(({ row, raw }) => (raw === undefined ? [] : [row])),
    problems: [...problems, ...reserved],
    free: events.filter((_, position) => !foreign.has(position)),
    free_positions: positions.filter((_, position) => !foreign.has(position)),
    settled,
  };
}

/** The rows that are rejected, in their order; `refused`: for what else than what was read. */
function rejectionsOf(
  { unreadable, row_of, problems }: RowsRead,
  refused: readonly Problem[],
): RejectedRow[] {
  const rejected = [...unreadable, ...rejectedRows([...problems, ...refused], row_of)];
  return rejected.toSorted((a, b) => a.row - b.row);
}
