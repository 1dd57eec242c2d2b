import type { UsageWindow } from "../../port.ts";
import type { Parameters } from "../engine/sql.ts";

/** The time from the earliest start to the latest end, for plain conditions by which the engine skips blocks. */
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

/** The windows as a table of position, subscription_id, start_ms, end_ms and `extra_columns` columns. */
export function windowsSql(
  windows: readonly UsageWindow[],
  parameters: Parameters,
  extra_columns: Readonly<Record<string, readonly number[]>> = {},
): string {
  const columns = {
    position: windows.map((_, i) => i),
    start_ms: windows.map((window) => window.start_ms),
    end_ms: windows.map((window) => window.end_ms),
    ...extra_columns,
  };
  const subscription_ids = parameters.integers(windows.map((window) => window.subscription_id));
  const lists = Object.entries(columns).map(
    ([name, values]) => `unnest(${parameters.integers(values)}) AS ${name}`,
  );
  return `SELECT unnest(${subscription_ids})::INTEGER AS subscription_id, ${lists.join(", ")}`;
}
