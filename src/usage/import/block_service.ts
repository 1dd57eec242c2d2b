import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { call, operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { nextTurn } from "../../core/chunk.ts";
import { invalid } from "../../core/errors.ts";
import { KeyedMutex } from "../../core/keyed_mutex.ts";
import { Nothing, strict } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";
import { readSentBlock, type ReadableBlock } from "./block_reader.ts";
import {
  type BlockOrigin,
  ImportBlock,
  type ImportedBlock,
  ImportedBlock as ImportedBlockSchema,
  type ImportSource,
  KnownFile,
  type SentBlock,
} from "./model.ts";
import { listUsageImports, saveUsageImport } from "./queries.ts";
import { importUsage, stageUsageImport } from "./store_block.ts";

/** One block is read and stored at a time: its engine's memory is the bound of all. Of a company one waits for that. */
const reading = new KeyedMutex<"block" | number>();

/** Lists the files that were imported, the newest. */
export const listImportedFiles = operation({
  name: "list_imported_files",
  permission: "usage:write",
  input: strict({}),
  output: Type.Object({ data: Type.Array(KnownFile) }),
  run: async (ctx) => ({ data: await listUsageImports(readTx(ctx), LIMITS.usage_imports) }),
});

/** Records the file that a block is of. */
const recordImportedFile = operation({
  name: "record_imported_file",
  permission: "usage:write",
  unaudited: true,
  input: KnownFile,
  output: Nothing,
  async run({ unaudited_store, actor, now }, file) {
    await unaudited_store.tx((q) => saveUsageImport({ q, scope: scopeOf(actor), now }, file));
    return {};
  },
});

/**
 * Stores a sent block by the rules of imports: each row on its own, and none twice. A row without an id takes one from
 * the block's content and its place. Errors: those of `readSentBlock` and `importUsage`; what was stored before is a
 * duplicate when the block is sent again. Decision 0191.
 */
export const importUsageBlock = operation({
  name: "import_usage_block",
  permission: "usage:write",
  unaudited: true,
  input: ImportBlock,
  output: ImportedBlockSchema,
  async run(ctx, { block, origin }) {
    await recordOrigin(ctx, origin);
    const store = () => readSentBlock(block, (readable) => storeBlock(ctx, block, readable));
    return reading.run(scopeOf(ctx.actor).company_id, () => reading.run("block", store));
  },
});

/** Before a row is stored, so that the file is known of whatever happens then. */
async function recordOrigin(ctx: Context, { file_name, digest, bytes, rows }: BlockOrigin): Promise<void> {
  const given = [file_name, digest, bytes, rows].filter((part) => part !== undefined).length;
  if (given === 0) return;
  if (file_name === undefined || digest === undefined || bytes === undefined || rows === undefined)
    throw invalid("/file_name", "comes with digest, bytes and rows, or not at all");
  await call(ctx, recordImportedFile, { file_name, digest, bytes, rows });
}

async function storeBlock(
  ctx: Context,
  { digest, bytes }: SentBlock,
  readable: ReadableBlock,
): Promise<ImportedBlock> {
  const source: ImportSource = { file_name: null, digest, bytes, beginnings: [], was_other: false };
  const { subscription_field, keys } = readable;
  const shared = { subscription_field, keys, source: async () => source };
  const total: ImportedBlock = { accepted: 0, duplicates: 0, rejected: 0, rejected_rows: [] };
  for await (const block of readable.slices()) {
    const input = { ...shared, block };
    await call(ctx, stageUsageImport, input);
    const { accepted, duplicates, rejected } = await call(ctx, importUsage, input);
    total.accepted += accepted;
    total.duplicates += duplicates;
    total.rejected += rejected.length;
    const room = LIMITS.usage_block_rejects - total.rejected_rows.length;
    for (const row of rejected.slice(0, room)) total.rejected_rows.push(row);
    await nextTurn();
  }
  return total;
}
