/** Three words of a hash: of 1e9 members two are taken for one with a probability of 1e-11. */
export type MemberHash = readonly [number, number, number];

const WORDS = 3;
const FIRST_SLOTS = 8;
/** A search in a table that is fuller takes too long; one that is emptier takes over 16 bytes a member. */
const MAX_LOAD = 0.9;
const GROWTH = 1.25;

/** A set of hashes, in about 15 bytes a member: an open hash table. */
export class MemberSet {
  /** An empty slot is all zeros; a hash of zeros counts as of one. */
  #slots = new Uint32Array(FIRST_SLOTS * WORDS);
  #size = 0;

  static from(words: Uint32Array): MemberSet {
    const set = new MemberSet();
    for (let at = 0; at + WORDS <= words.length; at += WORDS)
      set.add([words[at] ?? 0, words[at + 1] ?? 0, words[at + 2] ?? 0]);
    return set;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  add([a, b, c]: MemberHash): void {
    const high = a === 0 && b === 0 && c === 0 ? 1 : a;
    const at = this.#find(high, b, c);
    if (!this.#isEmpty(at)) return;
    this.#put(at, high, b, c);
    this.#size++;
    if (this.#size > (this.#slots.length / WORDS) * MAX_LOAD) this.#grow();
  }

  addAll(other: MemberSet): void {
    other.#each((a, b, c) => this.add([a, b, c]));
  }

  /** All members, word by word. */
  words(): Uint32Array {
    const words = new Uint32Array(this.#size * WORDS);
    let at = 0;
    this.#each((a, b, c) => {
      words[at++] = a;
      words[at++] = b;
      words[at++] = c;
    });
    return words;
  }

  #each(take: (a: number, b: number, c: number) => void): void {
    const slots = this.#slots;
    for (let at = 0; at < slots.length; at += WORDS)
      if (!this.#isEmpty(at)) take(slots[at] ?? 0, slots[at + 1] ?? 0, slots[at + 2] ?? 0);
  }

  /** The place of a hash, or the empty one where it belongs. */
  #find(a: number, b: number, c: number): number {
    const slots = this.#slots;
    let at = Math.floor((c * (slots.length / WORDS)) / 2 ** 32) * WORDS;
    while (!this.#isEmpty(at) && (slots[at] !== a || slots[at + 1] !== b || slots[at + 2] !== c))
      at = at + WORDS === slots.length ? 0 : at + WORDS;
    return at;
  }

  #isEmpty(at: number): boolean {
    return this.#slots[at] === 0 && this.#slots[at + 1] === 0 && this.#slots[at + 2] === 0;
  }

  #put(at: number, a: number, b: number, c: number): void {
    this.#slots[at] = a;
    this.#slots[at + 1] = b;
    this.#slots[at + 2] = c;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(Math.ceil((old.length / WORDS) * GROWTH) * WORDS);
    for (let at = 0; at < old.length; at += WORDS) {
      const [a, b, c] = [old[at] ?? 0, old[at + 1] ?? 0, old[at + 2] ?? 0];
      if (a !== 0 || b !== 0 || c !== 0) this.#put(this.#find(a, b, c), a, b, c);
    }
  }
}

/** The hash of a text: of its MD5 with a secret before it, without which nobody finds texts of one hash. */
export function memberHash(secret: string, text: string): MemberHash {
  Bun.MD5.hash(secret + text, DIGEST);
  return [WORDS_OF_DIGEST[0] ?? 0, WORDS_OF_DIGEST[1] ?? 0, WORDS_OF_DIGEST[2] ?? 0];
}

/** The hasher takes no room of less than its largest digest. */
const DIGEST = new Uint8Array(64);
const WORDS_OF_DIGEST = new Uint32Array(DIGEST.buffer);
