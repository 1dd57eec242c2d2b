import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import type { Reads } from "../../store/store.ts";
import type { BlobStore } from "../../store/blob_store.ts";
import { listExpectedFiles } from "./queries.ts";

/** The result of checking all documents' files. */
export interface CheckedFiles {
  documents: number;
  /** Documents whose file is missing or differs. */
  broken: number;
  /** The first of them, in words. */
  problems: string[];
}

/** Checks that every document's file exists with its size and, if asked, its bytes. */
export async function checkFiles(
  q: Reads,
  files: BlobStore,
  { reads_bytes }: { reads_bytes: boolean },
): Promise<CheckedFiles> {
  const result: CheckedFiles = { documents: 0, broken: 0, problems: [] };
  for (let after_id = 0; ; ) {
    const batch = await listExpectedFiles(q, { after_id, limit: SHARED_LIMITS.prune_rows });
    for (const { id, company_id, ...written } of batch) {
      const problem = await files.problemOf(company_id, written, reads_bytes);
      result.documents++;
      if (problem === null) continue;
      result.broken++;
      if (result.problems.length < LIMITS.document_problems)
        result.problems.push(`document ${id} ${problem}`);
    }
    const last = batch.at(-1);
    if (last === undefined) return result;
    after_id = last.id;
  }
}
