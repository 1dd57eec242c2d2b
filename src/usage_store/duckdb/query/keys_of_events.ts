import { quoteText } from "../engine/sql.ts";
import { pointersOf } from "./metadata_sql.ts";

/** The metadata keys that a statement reads of each event: all of them by one look into its JSON. */
export class KeysOfEvents {
  readonly #pointers: string[] = [];

  /** SQL of the JSON at a key, NULL without such a key, where `columnSql` was selected. */
  at(key: string): string {
    const places = pointersOf(key).map((pointer) => {
      const known = this.#pointers.indexOf(pointer);
      return `found[${known < 0 ? this.#pointers.push(pointer) : known + 1}]`;
    });
    return places.length === 1 ? (places[0] ?? "") : `coalesce(${places.join(", ")})`;
  }

  /** The column, after a comma; nothing where no key is read. */
  columnSql(): string {
    if (this.#pointers.length === 0) return "";
    return `, json_extract(metadata, [${this.#pointers.map(quoteText).join(", ")}]) AS found`;
  }
}
