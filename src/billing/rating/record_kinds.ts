/** The kinds of billing records. */
export const RECORD_KINDS = ["period", "adjustment", "advance", "interim"] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];
