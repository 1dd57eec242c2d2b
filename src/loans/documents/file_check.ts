import { LIMITS } from "../../core/limits.ts";
import type { Reads } from "../../store/store.ts";
import type { DocumentFiles } from "../../store/blob_store.ts";
import { listExpectedFiles } from "./queries.ts";

/** What a look at all documents' files came to. */
export interface CheckedFiles {
  documents: number;
  /** The documents whose file is not what they say, the first ones in words. */
  broken: number;
  problems: string[];
}

/** Compares every document with its file: that it is there with its size, and, if asked, with its bytes. */
export async function checkFiles(
  q: Reads,
  files: DocumentFiles,
  { reads_bytes }: { reads_bytes: boolean },
): Promise<CheckedFiles> {
  const told: CheckedFiles = { documents: 0, broken: 0, problems: [] };
  for (let after_id = 0; ; ) {
    const some = await listExpectedFiles(q, { after_id, limit: LIMITS.prune_rows });
    for (const { id, company_id, ...written } of some) {
      const problem = await files.problemOf(company_id, written, reads_bytes);
      told.documents++;
      if (problem === null) continue;
      told.broken++;
      if (told.problems.length < LIMITS.document_problems) told.problems.push(`document ${id} ${problem}`);
    }
    const last = some.at(-1);
    if (last === undefined) return told;
    after_id = last.id;
  }
}
