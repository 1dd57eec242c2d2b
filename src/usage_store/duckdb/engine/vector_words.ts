import type { DuckDBVector } from "@duckdb/node-api";

/**
 * A vector's fixed-width values as 32-bit words in the engine's memory, lower ones first: valid while its chunk lives,
 * and written by its flush. For columns without nulls only.
 */
export function rawWords(vector: DuckDBVector): Uint32Array {
  // The library hides its views, and otherwise takes every value as an object or a bigint.
  const { items, dataView } = vector as unknown as { items?: ArrayBufferView; dataView?: ArrayBufferView };
  const view = items ?? dataView;
  if (view === undefined) throw new TypeError("Cannot reach a column's memory: the library changed");
  return new Uint32Array(view.buffer, view.byteOffset, view.byteLength / 4);
}
