import type { Reads } from "./store.ts";

/** What is made of tables, once in each dialect: a selection, known again by being the same, or a statement's text. */
export function oncePerDialect<T, Q extends Reads = Reads>(make: (q: Q) => T): (q: Q) => T {
  const made = new WeakMap<Reads["use"], { value: T }>();
  return (q) => {
    const kept = made.get(q.use) ?? { value: make(q) };
    made.set(q.use, kept);
    return kept.value;
  };
}
