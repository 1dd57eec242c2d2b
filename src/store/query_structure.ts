import { Column, getTableName, Param, SQL, StringChunk, Table } from "drizzle-orm";

/** Longer lists of values have a text each time: one for each length would push out what is kept. */
const LIST = 8;

/**
 * The structure of a query and, apart from it, the values in it, in the order of the SQL text: queries of one structure
 * have the same text.
 */
export class QueryStructure {
  key = "";
  readonly values: unknown[] = [];
  /** Whether it is all told: a long list of values or a query inside is not, since its text varies. */
  is_known = true;

  /** Adds a part of a query, as the query builder keeps it. */
  add(part: unknown): void {
    if (part instanceof StringChunk) {
      const [text = "", ...others] = part.value;
      this.key += others.length === 0 ? text : part.value.join("");
    } else if (part instanceof Column) {
      this.key += `\n${getTableName(part.table)}.${part.name}\n`;
    } else if (part instanceof Param) {
      this.#addValue(part.value === null ? null : part.encoder.mapToDriverValue(part.value));
    } else if (part instanceof SQL) {
      for (const chunk of part.queryChunks) this.add(chunk);
    } else if (part instanceof Table) {
      this.key += `\n${getTableName(part)}\n`;
    } else if (Array.isArray(part) && part.length <= LIST) {
      // Its text has a place for each of them, so that each length is a structure of its own.
      this.addWord(`list of ${part.length}`);
      for (const one of part) this.add(one);
    } else if (part !== undefined) {
      this.#addValue(part);
    }
  }

  /** Adds words of the query that are not SQL of their own. */
  addWord(word: string): void {
    this.key += `\n${word}\n`;
  }

  addAll({ key, values, is_known }: QueryStructure): void {
    this.key += key;
    this.values.push(...values);
    this.is_known &&= is_known;
  }

  #addValue(value: unknown): void {
    // Anything else is a part that the query builder writes in its own way.
    if (typeof value === "object" && value !== null) this.is_known = false;
    this.key += "\n?\n";
    this.values.push(value);
  }
}
