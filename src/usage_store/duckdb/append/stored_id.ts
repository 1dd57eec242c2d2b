/** A stored id is its lower half, then its upper, each lower 32 bits first, the very first bit flipped. */
export function setId(words: Uint32Array, row: number, ids: Uint32Array, from: number): void {
  const to = row * 4;
  words[to] = ids[from + 2] ?? 0;
  words[to + 1] = ids[from + 3] ?? 0;
  words[to + 2] = ids[from] ?? 0;
  words[to + 3] = (ids[from + 1] ?? 0) ^ 0x80000000;
}
