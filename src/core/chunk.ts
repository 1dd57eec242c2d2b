/** Cuts a list into parts of at most `size`, in order. */
export function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** The same parts, with a turn for everything else before each but the first: for work of more than some ms. */
export async function* interleave<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) {
    if (start > 0) await Bun.sleep(0);
    yield items.slice(start, start + size);
  }
}
