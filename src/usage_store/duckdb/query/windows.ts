import type { UsageWindow } from "../../port.ts";
import type { Parameters } from "../engine/sql.ts";

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
