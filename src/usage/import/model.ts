import { type Static, Type } from "@sinclair/typebox";
import { strict } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";
import { RecordedUsage } from "../ingest/model.ts";
import type { EventRows } from "../../usage_store/event_rows.ts";

/** An earlier import. */
export interface KnownImport {
  file_name: string;
  /** SHA-256 of its bytes, in hex. */
  digest: string;
  bytes: number;
  /** The number of rows of which some may have been stored. */
  rows: number;
}

/** A file's content, and its earlier imports. */
export interface ImportSource {
  /** Null for a block that came without a file: none is recognized by it later. */
  file_name: string | null;
  digest: string;
  bytes: number;
  /** Earlier imports of beginnings of the file, the shortest first; the last may be all of it. */
  beginnings: readonly KnownImport[];
  /** Whether another file of the same name was imported that this one does not continue. */
  was_other: boolean;
}

/** The content of a file, by its name. */
export interface FileSource extends ImportSource {
  file_name: string;
}

/** A row that is validated on its own: the texts of its columns or expressions. `row` counts from 1. */
export interface FileRow {
  row: number;
  /** The reason why the row can't be read at all. */
  problem: string | null;
  id: string;
  subscription: string | null;
  timestamp: string | null;
  usage: string | null;
  metadata: string | null;
}

/** A block of an imported file. */
export interface ImportUsage {
  block: EventRows;
  /** The field that the rows' `subscription` holds, and its values by index. */
  subscription_field: "external_subscription_id" | "subscription_id";
  keys: readonly string[];
  /** The file's content, which the ids of rows without one derive from. */
  source: () => Promise<ImportSource>;
}
export const ImportUsage = Type.Unsafe<ImportUsage>(Type.Any());

export const RejectedRow = Type.Object({ row: Type.Integer(), reason: Type.String() });
export type RejectedRow = Static<typeof RejectedRow>;

/** An earlier import of a file, as programs see it. */
export const KnownFile = Type.Object(
  {
    file_name: Type.String(),
    digest: Type.String({ description: "SHA-256 of its bytes, in hex" }),
    bytes: Type.Integer(),
    rows: Type.Integer({ description: "Up to this row some may have been stored" }),
  },
  { title: "ImportedFile" },
);

/** The file that a block is of, for the record of imports. */
export const BlockOrigin = strict({
  file_name: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
  digest: Type.Optional(
    Type.String({ pattern: "^[0-9a-f]{64}$", description: "a SHA-256 in 64 lower-case hexadecimal digits" }),
  ),
  bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  rows: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 40 - 1 })),
});
export type BlockOrigin = Static<typeof BlockOrigin>;

/** A block that was sent, on disk. */
export interface SentBlock {
  path: string;
  /** SHA-256 of its bytes, in hex. */
  digest: string;
  bytes: number;
}

export const ImportBlock = Type.Unsafe<{ block: SentBlock; origin: BlockOrigin }>(Type.Any());

export const ImportedBlock = Type.Object(
  {
    ...RecordedUsage.properties,
    rejected: Type.Integer({ description: "How many rows were rejected" }),
    rejected_rows: Type.Array(RejectedRow, {
      description: `The first ${LIMITS.usage_block_rejects} of them, by their place in the block, from 1`,
    }),
  },
  { title: "ImportedBlock" },
);
export type ImportedBlock = Static<typeof ImportedBlock>;

export const ImportedUsage = Type.Object({
  ...RecordedUsage.properties,
  rejected: Type.Array(RejectedRow),
});
export type ImportedUsage = Static<typeof ImportedUsage>;
