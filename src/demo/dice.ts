/** A number below `n` that the seed determines, the next at each call. */
export type Dice = (n: number) => number;

/** Throws by a seed (mulberry32). */
export function dice(seed: number): Dice {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    return mix(state) % n;
  };
}

/** One of a list. Errors: throws when it is empty. */
export function pick<T>(roll: Dice, list: readonly T[]): T {
  const one = list[roll(list.length)];
  if (one === undefined) throw new Error("Nothing to pick from");
  return one;
}

/** A share from 0 to 1 that follows from these whole numbers alone, in whatever order they are asked for. */
export function noise(...numbers: readonly number[]): number {
  let state = 0x9e3779b9;
  for (const number of numbers) state = mix((state ^ number) + 0x6d2b79f5) | 0;
  return (state >>> 0) / 2 ** 32;
}

function mix(state: number): number {
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}
