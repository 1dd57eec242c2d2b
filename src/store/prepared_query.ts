import type { Reads } from "./store.ts";

interface PreparedQueryBuilder<R> {
  prepare(name: string): { execute(values: Record<string, unknown>): PromiseLike<R> };
}

/**
 * A query that is built once for each connection and then only filled in (`sql.placeholder`): building costs
 * more than running a short one. For what runs on every request; inside a transaction it is built anew.
 */
export function preparedQuery<R>(
  name: string,
  build: (q: Reads) => PreparedQueryBuilder<R>,
): (q: Reads, values: Record<string, unknown>) => PromiseLike<R> {
  const prepared = new WeakMap<Reads, ReturnType<PreparedQueryBuilder<R>["prepare"]>>();
  return (q, values) => {
    const statement = prepared.get(q) ?? build(q).prepare(name);
    prepared.set(q, statement);
    return statement.execute(values);
  };
}
