/** Requests under way at once while records are made. */
const AT_ONCE = 8;

/** Calls `make` for 0 to `count` - 1, some at once, and gives the results in order. */
export async function inParallel<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const work = async () => {
    for (let i = next++; i < count; i = next++) results[i] = await make(i);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}
