import type { Deps } from "../../src/app/deps.ts";
import type { Manifest } from "../../src/backup/manifest.ts";
import { openTarget } from "../../src/backup/open_target.ts";
import { takePoint } from "../../src/backup/take_point.ts";
import { TABLES } from "../../src/server/schema.ts";

/** Takes a point of an open service. */
export async function makePoint(deps: Deps, url: string, recipient: string | null = null): Promise<Manifest> {
  const { store, usage, documents, clock, config } = deps;
  const { data_dir, database_url } = config;
  const { manifest, damaged_documents } = await takePoint({
    store,
    usage,
    documents,
    data_dir,
    database_url,
    recipient,
    tables: Object.values(TABLES),
    target: openTarget(url),
    now: clock.now(),
    isStopping: () => false,
  });
  if (damaged_documents.length > 0) throw new Error(damaged_documents.join());
  return manifest;
}
