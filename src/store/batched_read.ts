import type { Reads } from "./store.ts";

interface Batch<K, V> {
  keys: Set<K>;
  result: Promise<V>;
}

/**
 * A read that is made once for all who ask for the same group within one turn of the event loop, with the keys
 * of all of them. For what every request asks: a query costs about as much for many keys as for one. Nothing
 * is remembered; the read begins after it was asked for, and so sees whatever was committed before.
 */
export function batchedRead<G, K, V>(
  read: (q: Reads, group: G, keys: K[]) => Promise<V>,
): (q: Reads, group: G, keys?: Iterable<K>) => Promise<V> {
  const under_way = new WeakMap<Reads, Map<G, Batch<K, V>>>();

  function begin(q: Reads, group: G, batches: Map<G, Batch<K, V>>): Batch<K, V> {
    const keys = new Set<K>();
    const result = endOfTurn().then(() => {
      batches.delete(group);
      return read(q, group, [...keys]);
    });
    const batch = { keys, result };
    batches.set(group, batch);
    return batch;
  }

  return (q, group, keys = []) => {
    const batches = under_way.get(q) ?? new Map<G, Batch<K, V>>();
    under_way.set(q, batches);
    const batch = batches.get(group) ?? begin(q, group, batches);
    for (const key of keys) batch.keys.add(key);
    return batch.result;
  };
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
