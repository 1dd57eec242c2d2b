import { type ErrorDetail, invalidAll } from "../../core/errors.ts";
import type { Factor, Matching, Summand, TextSource } from "./model.ts";

/** Where a matching says something: a JSON pointer into it. */
interface Named {
  path: string;
  column: string;
}

/**
 * The columns that a matching names, each once. Errors: invalid naming each part that says nothing or more than one thing,
 * each column that the file does not have, and keys that stand twice.
 */
export function columnsOfMatching(matching: Matching, columns: readonly string[]): string[] {
  const reader = new MatchingReader();
  reader.read(matching);
  const known = new Set(columns);
  const missing = reader.named
    .filter(({ column }) => !known.has(column))
    .map(({ path }) => ({ path, message: "must be a column of the file, as its `columns` has it" }));
  const details = [...reader.problems, ...missing];
  if (details.length > 0) throw invalidAll(details);
  return [...new Set(reader.named.map(({ column }) => column))];
}

class MatchingReader {
  readonly named: Named[] = [];
  readonly problems: ErrorDetail[] = [];

  read({ subscription, timestamp, usage, id, metadata }: Matching): void {
    this.#text(subscription, "/matching/subscription");
    this.#text(timestamp, "/matching/timestamp");
    const { sum, ...summand } = usage;
    if (sum === undefined) this.#summand(summand, "/matching/usage", AMOUNT);
    else {
      if (Object.keys(summand).length > 0) this.#refuse("/matching/usage", AMOUNT);
      for (const [i, part] of sum.entries()) this.#summand(part, `/matching/usage/sum/${i}`, AMOUNT);
    }
    if (id !== undefined) this.#column(id.column, "/matching/id");
    if (metadata === undefined) return;
    const { column, keys = [] } = metadata;
    if ((column === undefined) === (metadata.keys === undefined))
      this.#refuse("/matching/metadata", "must have either a column or keys");
    this.#column(column, "/matching/metadata");
    const seen = new Set<string>();
    for (const [i, key] of keys.entries()) {
      const path = `/matching/metadata/keys/${i}`;
      if (seen.has(key.key)) this.#refuse(`${path}/key`, "must stand once");
      seen.add(key.key);
      this.#text(key, path);
    }
  }

  #text({ column, constant }: TextSource, path: string): void {
    if ((column === undefined) === (constant === undefined))
      this.#refuse(path, "must have either a column or a constant");
    this.#column(column, path);
  }

  #summand({ product, ...factor }: Summand, path: string, rule: string): void {
    const given = Object.values({ ...factor, product }).filter((part) => part !== undefined).length;
    if (given !== 1) this.#refuse(path, rule);
    this.#column(factor.column, path);
    for (const [i, part] of (product ?? []).entries()) this.#factor(part, `${path}/product/${i}`);
  }

  #factor({ column, constant }: Factor, path: string): void {
    if ((column === undefined) === (constant === undefined))
      this.#refuse(path, "must have either a column or a constant");
    this.#column(column, path);
  }

  #column(column: string | undefined, path: string): void {
    if (column !== undefined) this.named.push({ path: `${path}/column`, column });
  }

  #refuse(path: string, message: string): void {
    this.problems.push({ path, message });
  }
}

const AMOUNT = "must be exactly one of column, constant, product and sum";
