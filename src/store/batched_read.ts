import type { Reads } from "./store.ts";

interface Batch<K, V> {
  keys: Set<K>;
  result: Promise<V>;
}

/**
 * Batches reads by group within one turn of the event loop (the DataLoader pattern). For what every request reads: a
 * query costs about as much for many keys as for one. Nothing is cached; a read begins after its call, and so sees
 * everything committed before. In a transaction it begins at once.
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
    // Nobody to wait for, while others wait for the transaction.
    if (q.reads_at_once) return read(q, group, [...new Set(keys)]);
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
