/**
 * SipHash-1-3 of three 64-bit words, in 32-bit halves (BigInt is ten times slower). A keyed hash: without the
 * key nobody can find ids with the same fingerprint. Source: Aumasson and Bernstein, "SipHash: a
 * fast short-input PRF", with the round counts that the hash tables of Rust and Ruby use.
 */
export class SipHash {
  // The initial state v0 … v3: low half, high half.
  readonly #state: readonly [number, number, number, number, number, number, number, number];
  /** The halves of the last result, unsigned. */
  low = 0;
  high = 0;

  /** `key`: 16 random bytes. */
  constructor(key: Uint8Array) {
    const view = new DataView(key.buffer, key.byteOffset, 16);
    const word = (at: number): number => view.getUint32(at, true);
    const [k0, k1, k2, k3] = [word(0), word(4), word(8), word(12)] as const;
    this.#state = [
      k0 ^ 0x70736575,
      k1 ^ 0x736f6d65,
      k2 ^ 0x6e646f6d,
      k3 ^ 0x646f7261,
      k0 ^ 0x6e657261,
      k1 ^ 0x6c796765,
      k2 ^ 0x79746573,
      k3 ^ 0x74656462,
    ];
  }

  /** Hashes the words a, b and c, each given as (low, high), into `low` and `high`. */
  hash(a_low: number, a_high: number, b_low: number, b_high: number, c_low: number, c_high: number): void {
    // Not destructured: an iterator would cost as much as the hash. Signed throughout: a sum's carry from its bits is
    // twice as fast as one from unsigned halves, which do not fit the processor's integers here.
    const state = this.#state;
    let l0 = state[0];
    let h0 = state[1];
    let l1 = state[2];
    let h1 = state[3];
    let l2 = state[4];
    let h2 = state[5];
    let l3 = state[6];
    let h3 = state[7];
    // Steps 0 to 3 take in a word each, the last of them the length (24 bytes); steps 4 to 6 finish.
    for (let step = 0; step < 7; step++) {
      const m_low = (step === 0 ? a_low : step === 1 ? b_low : step === 2 ? c_low : 0) | 0;
      const m_high =
        (step === 0 ? a_high : step === 1 ? b_high : step === 2 ? c_high : step === 3 ? 24 << 24 : 0) | 0;
      l3 ^= m_low;
      h3 ^= m_high;
      if (step === 4) l2 ^= 0xff;
      // v0 += v1; v1 = rotl(v1, 13) ^ v0; v0 = rotl(v0, 32)
      let sum = (l0 + l1) | 0;
      let high = (h0 + h1 + (((l0 & l1) | ((l0 | l1) & ~sum)) >>> 31)) | 0;
      let low = ((l1 << 13) | (h1 >>> 19)) ^ sum;
      h1 = ((h1 << 13) | (l1 >>> 19)) ^ high;
      l1 = low;
      h0 = sum;
      l0 = high;
      // v2 += v3; v3 = rotl(v3, 16) ^ v2
      sum = (l2 + l3) | 0;
      h2 = (h2 + h3 + (((l2 & l3) | ((l2 | l3) & ~sum)) >>> 31)) | 0;
      l2 = sum;
      low = ((l3 << 16) | (h3 >>> 16)) ^ l2;
      h3 = ((h3 << 16) | (l3 >>> 16)) ^ h2;
      l3 = low;
      // v0 += v3; v3 = rotl(v3, 21) ^ v0
      sum = (l0 + l3) | 0;
      h0 = (h0 + h3 + (((l0 & l3) | ((l0 | l3) & ~sum)) >>> 31)) | 0;
      l0 = sum;
      low = ((l3 << 21) | (h3 >>> 11)) ^ l0;
      h3 = ((h3 << 21) | (l3 >>> 11)) ^ h0;
      l3 = low;
      // v2 += v1; v1 = rotl(v1, 17) ^ v2; v2 = rotl(v2, 32)
      sum = (l2 + l1) | 0;
      high = (h2 + h1 + (((l2 & l1) | ((l2 | l1) & ~sum)) >>> 31)) | 0;
      low = ((l1 << 17) | (h1 >>> 15)) ^ sum;
      h1 = ((h1 << 17) | (l1 >>> 15)) ^ high;
      l1 = low;
      h2 = sum;
      l2 = high;
      l0 ^= m_low;
      h0 ^= m_high;
    }
    this.low = (l0 ^ l1 ^ l2 ^ l3) >>> 0;
    this.high = (h0 ^ h1 ^ h2 ^ h3) >>> 0;
  }
}
