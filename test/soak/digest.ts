import type { WindowTotal } from "../../src/usage_store/port.ts";

/** The digest of a set of events, kept while they are sent: written from the port's definition, in any order. */
export class RunningDigest {
  #first = 0n;
  #second = 0n;
  #millionths = 0n;
  #count = 0;

  /** `usage` has at most three decimals. */
  add(id: string, timestamp: number, usage: number): void {
    const md5 = new Bun.CryptoHasher("md5").update(`${id}|${timestamp}|${usage.toFixed(6)}`).digest();
    this.#first = BigInt.asUintN(64, this.#first + md5.readBigUInt64LE(0));
    this.#second = BigInt.asUintN(64, this.#second + md5.readBigUInt64LE(8));
    this.#millionths += BigInt(Math.round(usage * 1_000)) * 1_000n;
    this.#count += 1;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether the store says the same of the set. */
  equals({ units, event_count, digest }: WindowTotal): boolean {
    const [whole = "0", decimals = ""] = units.split(".");
    const stored = BigInt(whole + decimals.padEnd(6, "0"));
    const words = [this.#first, this.#second].map((word) => word.toString(16).padStart(16, "0"));
    return event_count === this.#count && digest === words.join("") && stored === this.#millionths;
  }
}
