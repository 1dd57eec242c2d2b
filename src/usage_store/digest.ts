/** The digest of no events. */
export const NO_DIGEST = "0".repeat(32);

/** The digest of events by its two sums; see `WindowTotal`. */
export function digestOf(first: bigint, second: bigint): string {
  return hex(first) + hex(second);
}

/** The digest of the union of two disjoint sets of events: digests are sums. */
export function addDigests(a: string, b: string): string {
  const [a_first, a_second] = sumsOf(a);
  const [b_first, b_second] = sumsOf(b);
  return digestOf(a_first + b_first, a_second + b_second);
}

/** The digest of the events of a set without those of a subset. */
export function subtractDigests(from: string, digest: string): string {
  return addDigests(from, negateDigest(digest));
}

/** What takes the events of a digest away where it is added. */
export function negateDigest(digest: string): string {
  const [first, second] = sumsOf(digest);
  return digestOf(-first, -second);
}

function sumsOf(digest: string): [first: bigint, second: bigint] {
  return [BigInt(`0x${digest.slice(0, 16)}`), BigInt(`0x${digest.slice(16)}`)];
}

/** A sum modulo 2^64, in 16 hex digits. */
function hex(sum: bigint): string {
  return BigInt.asUintN(64, sum).toString(16).padStart(16, "0");
}
