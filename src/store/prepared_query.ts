import type { Reads } from "./store.ts";

interface Built<R> {
  prepare(name: string): { execute(values: Record<string, unknown>): PromiseLike<R> };
}

/**
 * A query that is built once for each connection and then only filled in (`sql.placeholder`): building costs
 * more than running a short one. For what runs on every request; inside a transaction it is built anew.
 */
export function kept<R>(
  name: string,
  build: (q: Reads) => Built<R>,
): (q: Reads, values: Record<string, unknown>) => PromiseLike<R> {
  const prepared = new WeakMap<Reads, ReturnType<Built<R>["prepare"]>>();
  return (q, values) => {
    const known = prepared.get(q) ?? build(q).prepare(name);
    prepared.set(q, known);
    return known.execute(values);
  };
}
