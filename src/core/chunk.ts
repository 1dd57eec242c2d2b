/** Cuts a list into parts of at most `size`, in order. */
export function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Rows, groups or entries that are worked on in one turn: so many take some tenths of a millisecond. Decision 0166. */
export const ROWS_A_TURN = 125;

/** Long work that waits for its next turn. */
const waiting: (() => void)[] = [];

/**
 * Lets everything else have a turn of the event loop. However much long work is under way, one turn has one step of
 * it, so that no request waits for a step of each. Decision 0166.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(takeTurn);
  });
}

function takeTurn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(takeTurn);
}

/** The same parts, with a turn for everything else before each but the first: for work of more than some ms. */
export async function* interleave<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) {
    if (start > 0) await nextTurn();
    yield items.slice(start, start + size);
  }
}

type Compare<T> = (a: T, b: T) => number;

/** Sorts as `toSorted`, equals in their order too, with a turn for everything else after every `size` items. */
export async function sortInterleaved<T extends object>(
  items: readonly T[],
  compare: Compare<T>,
  size: number,
): Promise<T[]> {
  let runs: T[][] = [];
  for await (const part of interleave(items, size)) runs.push(part.toSorted(compare));
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (const [a = [], b = []] of chunks(runs, 2)) merged.push(await merge(a, b, compare, size));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T extends object>(
  a: readonly T[],
  b: readonly T[],
  compare: Compare<T>,
  size: number,
): Promise<T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  for (let left = a[i], right = b[j]; left !== undefined && right !== undefined; ) {
    if (compare(right, left) < 0) {
      merged.push(right);
      right = b[++j];
    } else {
      merged.push(left);
      left = a[++i];
    }
    if (merged.length % size === 0) await nextTurn();
  }
  return merged.concat(a.slice(i), b.slice(j));
}
