import { LIMITS } from "./limits.ts";
import type { QueryStructure } from "./query_structure.ts";
import type { Reads } from "./store.ts";

/** A statement as it is run: its text and the values in it. */
interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly is_prepared: boolean;
}

/** The SQL texts of statements by their structure, of each dialect. */
const texts = new WeakMap<Reads["use"], Map<string, string>>();

/** A statement whose text is kept by its structure; `build` writes it where it is not known yet. Decision 0150. */
export function statementOf(
  q: Reads,
  { key, values, is_known }: QueryStructure,
  build: () => { sql: string; params: unknown[] },
): Statement {
  const known = texts.get(q.use) ?? new Map<string, string>();
  texts.set(q.use, known);
  const kept = is_known ? known.get(key) : undefined;
  if (kept !== undefined) return { text: kept, values, is_prepared: true };
  const built = build();
  const is_whole = is_known && isSame(values, built.params);
  if (is_whole) {
    known.set(key, built.sql);
    const [oldest] = known.keys();
    if (known.size > LIMITS.query_texts && oldest !== undefined) known.delete(oldest);
  }
  return { text: built.sql, values: built.params, is_prepared: is_whole };
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => Object.is(value, b[i]));
}
