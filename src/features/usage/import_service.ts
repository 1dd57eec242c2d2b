import { Type } from "@sinclair/typebox";
import { type Context, operation } from "../../context.ts";
import { scopeOf } from "../../core/access.ts";
import { LIMITS } from "../../core/config.ts";
import { oneOf, strict } from "../../core/schema.ts";
import { parseObject, rejectedRows, storeFresh, toRaw, writeDerivedId } from "./import_rows.ts";
import { readAgainstStore } from "./ingest.ts";
import {
  type FileRow,
  ImportedUsage,
  ImportedUsageFile,
  ImportUsage,
  ImportUsageFile,
  type RejectedRow,
} from "./model.ts";
import { findMeteredSubscriptions, listExternalIds } from "./queries.ts";
import { readMetadata } from "./read_events.ts";
import { compositeKey, externalIdOf } from "./rules.ts";
import { type EventBlock, ROW } from "./store/duckdb/event_block.ts";
import { type FileToLoad, MAX_TIMESTAMP_MS, type SubscriptionLives } from "./store/usage_store.ts";

/** Lists what rows of a file may name their subscription by. Source: usage.md, Ingest. */
export const listSubscriptionKeys = operation({
  name: "list_subscription_keys",
  permission: "usage:write",
  input: strict({ subscription_field: oneOf(["external_subscription_id", "subscription_id"]) }),
  output: Type.Array(Type.String()),
  async run({ store, actor }, { subscription_field }) {
    const scope = scopeOf(actor);
    const external_ids = [...(await listExternalIds(store.read, scope)).values()];
    if (subscription_field === "external_subscription_id") return external_ids;
    return external_ids.map((id) => compositeKey(scope.company_id, id));
  },
});

/**
 * Stores all rows of a file at once that are events as they stand, where their ids are new. Null where they are not:
 * then, or when rows are left, `importUsage` does the rest. Errors: unavailable when the commit fails. Decision 0047.
 */
export const importUsageFile = operation({
  name: "import_usage_file",
  permission: "usage:write",
  input: ImportUsageFile,
  output: ImportedUsageFile,
  async run(ctx, { subscription_field, ...file }) {
    const named = { keys: file.keys, subscription_field };
    const lives = await findLives(ctx, named, () => true);
    const loaded = { ...file, lives, until_ms: ctx.now.epochMilliseconds + LIMITS.usage_future_ms };
    const result = await ctx.usage.loadFile(scopeOf(ctx.actor).company_id, loaded, ctx.now.epochMilliseconds);
    return result && { ...result, loaded };
  },
});

/**
 * Stores a block of a file's rows by the rules of ingest, each on its own: broken ones are told of, the others
 * stored. A row without an id has one that follows from the file's content and the row's number, so that the same
 * file stores nothing twice. Errors: unavailable when the commit fails. Source: usage.md, Ingest. Decision 0024.
 */
export const importUsage = operation({
  name: "import_usage",
  permission: "usage:write",
  input: ImportUsage,
  output: ImportedUsage,
  async run(ctx, input) {
    const { block } = input;
    const { company_id } = scopeOf(ctx.actor);
    await nameRows(input);
    if (input.loaded) markStored(block, input.loaded);
    await leaveOutsiders(ctx, input);
    writeLooseMetadata(block);
    const { left, ...stored } = await ctx.usage.load(company_id, block, ctx.now.epochMilliseconds);
    const total = { ...stored, rejected: new Array<RejectedRow>() };
    const alone = [...left, ...block.rowsThat(ROW.left_out)].sort((a, b) => a - b);
    for (let start = 0; start < alone.length; start += LIMITS.usage_import_slice) {
      const rows = alone.slice(start, start + LIMITS.usage_import_slice).map((row) => fileRow(input, row));
      const { accepted, duplicates, rejected } = await storeAlone(ctx, input.subscription_field, rows);
      total.accepted += accepted;
      total.duplicates += duplicates;
      total.rejected.push(...rejected);
    }
    return total;
  },
});

/** Gives the rows without an id theirs. */
async function nameRows({ block, source }: ImportUsage): Promise<void> {
  const rows = block.rowsThat(ROW.without_id);
  if (rows.length === 0) return;
  const digest = await source();
  for (const row of rows) writeDerivedId(block.ids, row * 4, digest, block.first_row + row);
}

/** Marks the rows that were stored when the file was loaded at once. */
function markStored(block: EventBlock, { lives, until_ms }: FileToLoad): void {
  for (let row = 0; row < block.rows; row++) {
    const is_event = ((block.states[row] ?? 0) & ~ROW.without_id) === 0;
    if (is_event && isInside(block, row, lives, until_ms)) block.mark(row, ROW.stored);
  }
}

/** Finds the rows' subscriptions, and leaves out what is not within one's life: only the store can tell. */
async function leaveOutsiders(ctx: Context, input: ImportUsage): Promise<void> {
  const { block, keys } = input;
  const named = new Uint8Array(keys.length);
  for (let row = 0; row < block.rows; row++) named[block.subscriptions[row] ?? -1] = 1;
  const lives = await findLives(ctx, input, (number) => named[number] === 1);
  const until_ms = ctx.now.epochMilliseconds + LIMITS.usage_future_ms;
  for (let row = 0; row < block.rows; row++) {
    if (block.is(row, ROW.left_out) || block.is(row, ROW.stored)) continue;
    block.subscription_ids[row] = lives.ids[block.subscriptions[row] ?? -1] ?? 0;
    if (!isInside(block, row, lives, until_ms)) block.mark(row, ROW.left_out);
  }
}

function isInside(block: EventBlock, row: number, lives: SubscriptionLives, until_ms: number): boolean {
  const number = block.subscriptions[row] ?? -1;
  const timestamp = block.timestamps[row] ?? 0;
  const { starts_ms, ends_ms } = lives;
  return timestamp >= (starts_ms[number] ?? 0) && timestamp < (ends_ms[number] ?? 0) && timestamp <= until_ms;
}

/** The lives of the wanted subscriptions, by number; those that are gone have none. */
async function findLives(
  { store, actor }: Context,
  { keys, subscription_field }: Pick<ImportUsage, "keys" | "subscription_field">,
  isWanted: (number: number) => boolean,
): Promise<SubscriptionLives> {
  const { company_id } = scopeOf(actor);
  const external_ids = keys.map((key) =>
    subscription_field === "subscription_id" ? (externalIdOf(company_id, key) ?? "") : key,
  );
  const wanted = external_ids.filter((_, number) => isWanted(number));
  const found = await findMeteredSubscriptions(store.read, company_id, wanted);
  const lives = {
    ids: new Int32Array(keys.length),
    starts_ms: new Float64Array(keys.length),
    ends_ms: new Float64Array(keys.length),
  };
  for (const [number, external_id] of external_ids.entries()) {
    const subscription = found.get(external_id);
    if (subscription === undefined) continue;
    lives.ids[number] = subscription.id;
    lives.starts_ms[number] = subscription.starts_ms;
    lives.ends_ms[number] = subscription.ends_ms ?? MAX_TIMESTAMP_MS + 1;
  }
  return lives;
}

/** Writes metadata the one way it is stored, where the file may have it in another. */
function writeLooseMetadata(block: EventBlock): void {
  for (const row of block.rowsThat(ROW.loose_metadata)) {
    if (block.is(row, ROW.left_out)) continue;
    const object = parseObject(block.metadataOf(row) ?? "null");
    const { json, problem } = object ? readMetadata(object) : { json: null };
    if (object === undefined || problem !== undefined) block.mark(row, ROW.left_out);
    else block.setMetadata(row, json);
  }
}

/** A row of the block in texts. */
function fileRow({ block, keys }: ImportUsage, row: number): FileRow {
  const number = block.first_row + row;
  if (block.is(row, ROW.texts_only)) {
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

/** Stores rows that are read one by one. */
async function storeAlone(
  ctx: Context,
  subscription_field: ImportUsage["subscription_field"],
  rows: readonly FileRow[],
): Promise<ImportedUsage> {
  const raws = rows.map((row) => toRaw(row, subscription_field));
  const readable = raws.flatMap(({ raw }) => (raw === undefined ? [] : [raw]));
  const limits = { usage_as_text: true, max_problems: Number.POSITIVE_INFINITY };
  const { events, positions, problems } = await readAgainstStore(ctx, readable, limits);
  const row_of = raws.flatMap(({ row, raw }) => (raw === undefined ? [] : [row]));
  const { company_id } = scopeOf(ctx.actor);
  const stored = await storeFresh(ctx.usage, company_id, events, ctx.now.epochMilliseconds);
  const unreadable = raws.flatMap(({ row, reason }): RejectedRow[] =>
    reason === undefined ? [] : [{ row, reason }],
  );
  const refused = stored.refused.map((problem) => ({
    ...problem,
    position: positions[problem.position] ?? 0,
  }));
  const rejected = [...unreadable, ...rejectedRows([...problems, ...refused], row_of)];
  return {
    accepted: stored.accepted,
    duplicates: stored.duplicates,
    rejected: rejected.toSorted((a, b) => a.row - b.row),
  };
}
