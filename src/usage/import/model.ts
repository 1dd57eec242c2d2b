import { type Static, Type } from "@sinclair/typebox";
import { RecordedUsage } from "../ingest/model.ts";
import type { EventRows } from "../../usage_store/event_rows.ts";

/** A file that was imported before. */
export interface KnownImport {
  file_name: string;
  /** SHA-256 of its bytes, in hex. */
  digest: string;
  bytes: number;
  /** The rows up to which some may have been stored. */
  rows: number;
}

/** A file's content, and what of it is known. */
export interface ImportSource {
  file_name: string;
  digest: string;
  bytes: number;
  /** What was imported of it before: beginnings of the file, the shortest first; it itself may be the last. */
  beginnings: readonly KnownImport[];
  /** Whether another file of its name, which it does not go on from, was imported before. */
  was_other: boolean;
}

/** A row of an imported file that is read alone: what its columns or expressions gave, as text. `row` counts from 1. */
export interface FileRow {
  row: number;
  /** Why the row can't be read at all, if so. */
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
  /** What the rows' `subscription` is, and which of them the block numbers. */
  subscription_field: "external_subscription_id" | "subscription_id";
  keys: readonly string[];
  /** The file's content, which names the rows without an id. */
  source: () => Promise<ImportSource>;
}
export const ImportUsage = Type.Unsafe<ImportUsage>(Type.Any());

export const RejectedRow = Type.Object({ row: Type.Integer(), reason: Type.String() });
export type RejectedRow = Static<typeof RejectedRow>;

export const ImportedUsage = Type.Object({
  ...RecordedUsage.properties,
  rejected: Type.Array(RejectedRow),
});
export type ImportedUsage = Static<typeof ImportedUsage>;
