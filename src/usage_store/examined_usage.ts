import type { MonthDigest, SumsCheck, UsageStore } from "./port.ts";

/** A usage store that nobody uses, with what proves its events. */
export interface ExaminedUsage extends Pick<UsageStore, "totals" | "measure" | "sinceOf"> {
  /** Compares the sums by hour of all companies with their events. */
  check(): Promise<SumsCheck>;
  /** The digests of all events, by company and month. */
  digests(): Promise<MonthDigest[]>;
  close(): Promise<void>;
}
