import type { DuckDBVector } from "@duckdb/node-api";

/**
 * A vector's values of fixed width in 32-bit words, lower ones first, as the engine has them: to be read as long
 * as its chunk lives, or written before it is flushed. Columns without nulls only.
 */
export function rawWords(vector: DuckDBVector): Uint32Array {
  // The library keeps its views to itself, and otherwise takes every value as an object or a bigint.
  const { items, dataView } = vector as unknown as { items?: ArrayBufferView; dataView?: ArrayBufferView };
  const view = items ?? dataView;
  if (view === undefined) throw new TypeError("Cannot reach a column's memory: the library changed");
  return new Uint32Array(view.buffer, view.byteOffset, view.byteLength / 4);
}
