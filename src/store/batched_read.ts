import type { Reads } from "./store.ts";

interface Gathering<K, V> {
  keys: Set<K>;
  answer: Promise<V>;
}

/**
 * A read that is made once for all who ask for the same group within one turn of the event loop, with the keys
 * of all of them. For what every request asks: a query costs about as much for many keys as for one. Nothing
 * is remembered; the read begins after it was asked for, and so sees whatever was committed before.
 */
export function gathered<G, K, V>(
  read: (q: Reads, group: G, keys: K[]) => Promise<V>,
): (q: Reads, group: G, keys?: Iterable<K>) => Promise<V> {
  const under_way = new WeakMap<Reads, Map<G, Gathering<K, V>>>();

  function begin(q: Reads, group: G, gatherings: Map<G, Gathering<K, V>>): Gathering<K, V> {
    const keys = new Set<K>();
    const answer = endOfTurn().then(() => {
      gatherings.delete(group);
      return read(q, group, [...keys]);
    });
    const gathering = { keys, answer };
    gatherings.set(group, gathering);
    return gathering;
  }

  return (q, group, keys = []) => {
    const gatherings = under_way.get(q) ?? new Map<G, Gathering<K, V>>();
    under_way.set(q, gatherings);
    const gathering = gatherings.get(group) ?? begin(q, group, gatherings);
    for (const key of keys) gathering.keys.add(key);
    return gathering.answer;
  };
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
