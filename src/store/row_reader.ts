import { Column, type DriverValueDecoder, is, SQL } from "drizzle-orm";
import { QueryStructure } from "./query_structure.ts";
import type { RowOf, Selection } from "./row_of.ts";

type Decoder = DriverValueDecoder<unknown, unknown>;

const readers = new WeakMap<Selection, RowReader>();

/** The reader of a selection: worked out once, where the selection is made once. */
export function readerOf(selection: Selection): RowReader {
  const reader = readers.get(selection) ?? new RowReader(selection);
  readers.set(selection, reader);
  return reader;
}

/** The rows of a selection, from the driver's values of each. */
export function readRows<F extends Selection>(selection: F, rows: readonly unknown[][]): RowOf<F>[] {
  const reader = readerOf(selection);
  return rows.map((values) => reader.read(values)) as RowOf<F>[];
}

/** How the rows of a selection are read from what the driver gives: a list of values for each row. */
export class RowReader {
  /** The part of a query's structure that the selection is. */
  readonly structure = new QueryStructure();
  readonly #names: string[] = [];
  /** Of a group of fields: its own reader. Null: the value is taken as it is. */
  readonly #decoders: (Decoder | RowReader | null)[] = [];
  readonly #width: number;

  constructor(selection: Selection) {
    let width = 0;
    for (const [name, field] of Object.entries(selection)) {
      const decoder = decoderOf(field);
      const is_group = decoder instanceof RowReader;
      this.#names.push(name);
      this.#decoders.push(decoder);
      if (is_group) this.structure.addAll(decoder.structure);
      else this.structure.add(field);
      this.structure.addWord(",");
      width += is_group ? decoder.#width : 1;
    }
    this.#width = width;
  }

  /** The row whose values begin at `from`. */
  read(values: readonly unknown[], from = 0): Record<string, unknown> {
    const row: Record<string, unknown> = {};
    let at = from;
    for (let i = 0; i < this.#names.length; i++) {
      const name = this.#names[i] ?? "";
      const decoder = this.#decoders[i];
      if (decoder instanceof RowReader) {
        row[name] = decoder.read(values, at);
        at += decoder.#width;
      } else {
        const value = values[at++];
        row[name] = decoder && value !== null ? decoder.mapFromDriverValue(value) : value;
      }
    }
    return row;
  }
}

function decoderOf(field: Selection[string]): Decoder | RowReader | null {
  if (is(field, Column))
    return field.mapFromDriverValue === Column.prototype.mapFromDriverValue ? null : field;
  if (is(field, SQL)) return decoderOfSql(field);
  return is(field, SQL.Aliased) ? decoderOfSql(field.sql) : new RowReader(field);
}

// Of SQL that names no decoder, it gives the value back.
function decoderOfSql(sql: SQL): Decoder {
  return (sql as unknown as { decoder: Decoder }).decoder;
}
