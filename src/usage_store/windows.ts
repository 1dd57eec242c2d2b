import type { UsageWindow } from "./port.ts";

/** The time from the earliest start to the latest end, for plain conditions by which an engine skips blocks. */
export function spanOf(windows: readonly UsageWindow[]): { start_ms: number; end_ms: number } {
  return {
    start_ms: minimum(windows.map((window) => window.start_ms)),
    end_ms: windows.reduce((latest, window) => Math.max(latest, window.end_ms), 0),
  };
}

/** The smallest of any number of values. */
export function minimum(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.MAX_SAFE_INTEGER);
}
