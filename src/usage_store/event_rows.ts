/** Flags of a row, as bits; a row without any can be loaded. */
export const ROW = {
  /** Its metadata may not be canonical. */
  non_canonical_metadata: 1,
  /** It has no id of its own. */
  without_id: 2,
  /** It is not loaded. */
  skipped: 4,
  /** Only its texts are known, as a JSON array in the place of metadata. */
  unparsed: 8,
} as const;

/** Many rows of a file, by column; unknown values are 0. Made by the engine that reads the file. */
export interface EventRows {
  readonly rows: number;
  /** The number in the file of the first row. */
  readonly first_row: number;
  /** The place of the row's subscription in the import's keys, from 0; -1 for none. */
  readonly subscriptions: Int32Array;
  /** To be filled in before the rows are loaded. */
  readonly subscription_ids: Int32Array;
  /** Unix ms. */
  readonly timestamps: Float64Array;
  /** Four words an id: its upper half, then its lower half, each lower 32 bits first. */
  readonly ids: Uint32Array;
  /** Whether all of the flags are set. */
  is(row: number, flags: number): boolean;
  /** The rows that have all of the flags, ascending. */
  rowsThat(flags: number): number[];
  skip(row: number): void;
  /** The id as text. */
  idOf(row: number): string;
  usageOf(row: number): string;
  metadataOf(row: number): string | null;
  setMetadata(row: number, text: string | null): void;
}
