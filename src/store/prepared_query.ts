import type { Reads } from "./store.ts";

interface PreparedQueryBuilder<R> {
  prepare(name: string): { execute(values: Record<string, unknown>): PromiseLike<R> };
}

/**
 * A prepared query, cached per connection and executed with bound placeholders (`sql.placeholder`): building a short
 * query costs more than running it. For what runs on every request; a transaction builds it anew.
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
