import type { WriteContent } from "../core/download.ts";
import type { StagedFile, Written } from "./staged_files.ts";

/** A content as its row has it. */
export interface StoredBlob extends Written {
  /** The object in the bucket that is this row's alone; null: a file in DATA_DIR, which equal contents share. */
  object_id: string | null;
}

/** Where a company's content lies: `<sha256>`, a file, or `<sha256>/<object id>`, an object. */
export type BlobName = string;

export const blobName = ({ sha256, object_id }: Omit<StoredBlob, "size">): BlobName =>
  object_id === null ? sha256 : `${sha256}/${object_id}`;

/** What a name is made of. */
export function partsOf(name: BlobName): Omit<StoredBlob, "size"> {
  const [sha256 = "", object_id = null] = name.split("/");
  return { sha256, object_id };
}

/** Finds which of the contents some document of the company refers to. */
export type FindUsed = (names: readonly BlobName[]) => Promise<Set<BlobName>>;

/** Whether a backup reads the contents, in any process, so that none may be removed now. */
export type IsHeld = () => Promise<boolean>;

/** The contents of all companies' documents: files in DATA_DIR, or objects in a bucket. Decisions 0105 and 0324. */
export interface BlobStore {
  /** Whether new contents go to a bucket. */
  readonly is_bucket: boolean;
  readonly isHeld: IsHeld;
  /** A file to write, nobody's yet; `discard` it in any case. Errors: unavailable when too many come in. */
  stage(company_id: number): Promise<StagedFile>;
  /**
   * Puts a content in its place, durable, before `commit` writes down that it is there. Where that fails it goes again,
   * unless others refer to it. Errors: unavailable where it can't be stored.
   */
  commit<T>(
    company_id: number,
    staged: StagedFile,
    usedAmong: FindUsed,
    commit: (stored: StoredBlob) => Promise<T>,
  ): Promise<T>;
  /** Removes the contents that nothing refers to any more; returns how many. */
  removeUnused(company_id: number, names: Iterable<BlobName>, usedAmong: FindUsed): Promise<number>;
  /** Removes what killed processes left: old contents that nothing refers to, or that never came in whole. */
  sweep(company_id: number, now: Temporal.Instant, usedAmong: FindUsed): Promise<number>;
  /**
   * The content, piece by piece; all of it is hashed first. Errors: unavailable when it is not what was stored, or its
   * place can't be reached; throws when it is not there.
   */
  read(company_id: number, name: BlobName): Promise<WriteContent>;
  /**
   * A file with the content for a moment: its own, or a copy that is made at `scratch`; null where it is not there.
   * Errors: throws where it can't be fetched.
   */
  fileOf(company_id: number, name: BlobName, scratch: string): Promise<string | null>;
  /** What is wrong with a content that should be there, or null. `reads` it all, or looks at its size only. */
  problemOf(company_id: number, stored: StoredBlob, reads: boolean): Promise<string | null>;
  /**
   * Takes a file of DATA_DIR into the bucket for a row, which `commit` changes; false where it is not here whole, or
   * the row has changed. Errors: those of `commit` above.
   */
  moveIn(
    company_id: number,
    file: Written,
    usedAmong: FindUsed,
    commit: (object_id: string) => Promise<boolean>,
  ): Promise<boolean>;
}
