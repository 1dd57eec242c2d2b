/** The digest of no events. */
export const NO_DIGEST = "0".repeat(32);

/** The digest of events by its two sums; see `WindowTotal`. */
export function digestOf(first: bigint, second: bigint): string {
  return hex(first) + hex(second);
}

/** A sum modulo 2^64, in 16 hex digits. */
function hex(sum: bigint): string {
  return BigInt.asUintN(64, sum).toString(16).padStart(16, "0");
}
