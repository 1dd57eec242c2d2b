import type { Decimal } from "../core/money.ts";

/** An event as a segment of a backup has it. */
export interface SegmentRow {
  seq: number;
  company_id: number;
  subscription_id: number;
  /** Unix ms. */
  timestamp: number;
  /** A lower-case UUID. */
  id: string;
  usage: Decimal;
  /** Canonical JSON, or none. */
  metadata: string | null;
  /** Unix ms. */
  created_at: number;
}

/**
 * The digest of a company's events in a month of UTC, such as `2026-11`, by all that is stored of each: two engines that hold
 * the same events have the same.
 */
export interface ContentDigest {
  company_id: number;
  month: string;
  events: number;
  digest: string;
}

/** Sums of removed events of a subscription and hour of UTC, as `UsageRemovals.exportKept` has them. */
export interface KeptHour {
  company_id: number;
  subscription_id: number;
  /** Since 1970. */
  hour: number;
  total: Decimal;
  events: number;
  low: Decimal;
  high: Decimal;
  corrections: number;
}
