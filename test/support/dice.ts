/** A number below `n` that the seed determines, the next at each call. */
export type Dice = (n: number) => number;

/** Throws by a seed (mulberry32). */
export function dice(seed: number): Dice {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** One of a list. Errors: throws when it is empty. */
export function pick<T>(roll: Dice, list: readonly T[]): T {
  const one = list[roll(list.length)];
  if (one === undefined) throw new Error("Nothing to pick from");
  return one;
}
