import type { Reads } from "./store.ts";

/** What is made of tables, once in each dialect: a selection of many columns is known again by being the same. */
export function oncePerDialect<T>(make: (q: Reads) => T): (q: Reads) => T {
  const made = new WeakMap<Reads["use"], { value: T }>();
  return (q) => {
    const kept = made.get(q.use) ?? { value: make(q) };
    made.set(q.use, kept);
    return kept.value;
  };
}
