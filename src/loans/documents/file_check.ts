import { chunks } from "../../core/chunk.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import type { Reads } from "../../store/store.ts";
import type { BlobStore } from "../../store/blob_store.ts";
import { listExpectedFiles } from "./queries.ts";

/** The result of checking all documents' files. */
export interface CheckedFiles {
  documents: number;
  /** Documents whose content is a file in DATA_DIR. */
  files: number;
  /** Documents whose file or object is missing or differs. */
  broken: number;
  /** The first of them, in words. */
  problems: string[];
}

/** Checks that every document's file or object exists with its size and, if asked, its bytes. */
export async function checkFiles(
  q: Reads,
  files: BlobStore,
  { reads_bytes }: { reads_bytes: boolean },
): Promise<CheckedFiles> {
  const result: CheckedFiles = { documents: 0, files: 0, broken: 0, problems: [] };
  for (let after_id = 0; ; ) {
    const batch = await listExpectedFiles(q, { after_id, limit: SHARED_LIMITS.prune_rows });
    for (const some of chunks(batch, LIMITS.document_checks)) {
      const found = await Promise.all(
        some.map((document) => files.problemOf(document.company_id, document, reads_bytes)),
      );
      for (const [i, { id, object_id }] of some.entries()) {
        result.documents++;
        if (object_id === null) result.files++;
        const problem = found[i] ?? null;
        if (problem === null) continue;
        result.broken++;
        if (result.problems.length < LIMITS.document_problems)
          result.problems.push(`document ${id} ${problem}`);
      }
    }
    const last = batch.at(-1);
    if (last === undefined) return result;
    after_id = last.id;
  }
}
