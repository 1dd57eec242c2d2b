import { type Static, Type } from "@sinclair/typebox";
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
  file_name: string;
  digest: string;
  bytes: number;
  /** Earlier imports of beginnings of the file, the shortest first; the last may be all of it. */
  beginnings: readonly KnownImport[];
  /** Whether another file of the same name was imported that this one does not continue. */
  was_other: boolean;
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

export const ImportedUsage = Type.Object({
  ...RecordedUsage.properties,
  rejected: Type.Array(RejectedRow),
});
export type ImportedUsage = Static<typeof ImportedUsage>;
