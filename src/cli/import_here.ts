import { basename } from "node:path";
import type { Deps } from "../app/deps.ts";
import { call } from "../app/operation.ts";
import type { FileFormat } from "../usage/import/file_head.ts";
import { listSubscriptionKeys, recognizeImport } from "../usage/import/prepare_import.ts";
import { startUsageImport } from "../usage/import/service.ts";
import { importUsage, stageUsageImport } from "../usage/import/store_block.ts";
import type { EventRows } from "../usage_store/event_rows.ts";
import { commandContext } from "./command.ts";
import {
  importFile,
  type ImportWork,
  once,
  prefetch,
  type StoredRows,
  warnOfRepeats,
} from "./import_work.ts";

/** Imports a file into the stores that this process has open. */
export async function importHere(
  deps: Deps,
  company_id: number,
  work: ImportWork & { format: FileFormat },
): Promise<void> {
  const { path, format } = work;
  // Much is written: it must stop while the disk still has its reserve.
  await deps.guards.disk.watch();
  await call(commandContext(deps, company_id), startUsageImport, { file: basename(path), format });
  await importFile(work, () => storeHere(deps, company_id, work));
}

async function* storeHere(
  deps: Deps,
  company_id: number,
  { path, file }: ImportWork,
): AsyncGenerator<StoredRows> {
  const { subscription_field } = file;
  // A context a block: `now` must keep up with a long import.
  const context = () => commandContext(deps, company_id);
  const keys = await call(context(), listSubscriptionKeys, { subscription_field });
  const source = once(async () => {
    const known = await call(context(), recognizeImport, { path, file_name: basename(path) });
    warnOfRepeats(known);
    return known;
  });
  const shared = { subscription_field, keys, source };
  const stage = async (block: EventRows) => {
    const input = { ...shared, block };
    await call(context(), stageUsageImport, input);
    return input;
  };
  for await (const input of prefetch(file.readBlocks(keys), stage)) {
    const stored = await call(context(), importUsage, input);
    yield { ...stored, rows: input.block.rows };
  }
}
