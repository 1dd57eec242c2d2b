/**
 * An in-memory hash index of the stored events: a 64-bit fingerprint of each and its row's sequence number. A
 * fingerprint that is missing belongs to no stored event; one that is found is confirmed against the row, so that
 * entries without a row are harmless.
 *
 * 4,096 open-addressing tables, chosen by the fingerprint's first bits, of 12 bytes a slot, filled up to 80 %.
 * They start at different sizes and each grows by half on its own: a stored event takes 15 to 23 bytes, on
 * average 18, and growing halts the process for a small part of the whole only. Decision 0050.
 */
export class FingerprintIndex {
  readonly #tables: Table[];

  /** Empty, or of the `tables` of another index. Errors: throws RangeError for inconsistent tables. */
  constructor(tables?: readonly IndexTable[]) {
    this.#tables = (tables ?? emptyTables(0)).map(({ slots, count }) => new Table(slots, count));
    if (this.#tables.length !== TABLES) throw new RangeError(`An index has ${TABLES} tables`);
  }

  /** Creates an empty index with room for so many entries. */
  static for(entries: number): FingerprintIndex {
    return new FingerprintIndex(emptyTables(entries / TABLES / MAX_LOAD));
  }

  /** The tables, to be copied. */
  get tables(): readonly IndexTable[] {
    return this.#tables;
  }

  /** The number of entries. */
  get size(): number {
    return this.#tables.reduce((sum, table) => sum + table.count, 0);
  }

  /** The memory of the slots. */
  get bytes(): number {
    return this.#tables.reduce((sum, table) => sum + table.slots.byteLength, 0);
  }

  /** Adds a fingerprint, given in unsigned halves, for the row `seq`: 1 to 2^40 - 1. */
  add(high: number, low: number, seq: number): void {
    this.#table(high).add(high, low, seq);
  }

  /** Adds a fingerprint unless it is there already; returns whether it did. */
  addNew(high: number, low: number, seq: number): boolean {
    return this.#table(high).addNew(high, low, seq);
  }

  /** The rows that have this fingerprint: mostly none or one. */
  find(high: number, low: number): readonly number[] {
    return this.#table(high).find(high, low);
  }

  #table(high: number): Table {
    const table = this.#tables[tableOf(high)];
    if (table === undefined) throw new RangeError(`A fingerprint's half is not unsigned 32-bit: ${high}`);
    return table;
  }
}

/** A part of an index: its slots, and how many of them are used. */
export interface IndexTable {
  readonly slots: Uint32Array;
  readonly count: number;
}

/** How many tables an index has. */
export const TABLES = 4_096;
const MIN_SLOTS = 16;

/** The number of a fingerprint's table, by its upper half. */
export function tableOf(high: number): number {
  return high >>> 20;
}

const NONE: readonly number[] = [];
const WORDS = 3;
const MAX_LOAD = 0.8;

/** Tables of `slots` slots and up to half as many more: so that they don't all grow at once. */
function emptyTables(slots: number): IndexTable[] {
  const least = Math.max(slots, MIN_SLOTS);
  return Array.from({ length: TABLES }, (_, i) => ({
    slots: new Uint32Array(Math.floor(least * 1.5 ** (i / TABLES)) * WORDS),
    count: 0,
  }));
}

/**
 * A slot is three words: bits 32 to 55 of the fingerprint and bits 32 to 39 of seq, bits 0 to 31 of the
 * fingerprint, bits 0 to 31 of seq. The bits above 51 are the table's number. An empty slot has seq 0.
 */
class Table implements IndexTable {
  slots: Uint32Array;
  count: number;
  #capacity: number;

  constructor(slots: Uint32Array, count = 0) {
    this.slots = slots;
    this.count = count;
    this.#capacity = slots.length / WORDS;
    // A search ends at an empty slot: there must be one.
    if (!Number.isInteger(this.#capacity) || count >= this.#capacity)
      throw new RangeError("An index's table has no empty slot");
  }

  add(high: number, low: number, seq: number): void {
    if (this.count + 1 > this.#capacity * MAX_LOAD) this.#grow();
    this.#put(((high << 8) | Math.floor(seq / 2 ** 32)) >>> 0, low, seq >>> 0);
    this.count++;
  }

  addNew(high: number, low: number, seq: number): boolean {
    if (this.count + 1 > this.#capacity * MAX_LOAD) this.#grow();
    const { slots } = this;
    const wanted = high & 0xffffff;
    let at = this.#start(low);
    for (; ; at = this.#next(at)) {
      const word = slots[at] ?? 0;
      if (slots[at + 2] === 0 && (word & 0xff) === 0) break;
      if (slots[at + 1] === low && word >>> 8 === wanted) return false;
    }
    slots[at] = ((high << 8) | Math.floor(seq / 2 ** 32)) >>> 0;
    slots[at + 1] = low;
    slots[at + 2] = seq >>> 0;
    this.count++;
    return true;
  }

  find(high: number, low: number): readonly number[] {
    const { slots } = this;
    const wanted = high & 0xffffff;
    let found: number[] | undefined;
    for (let at = this.#start(low); ; at = this.#next(at)) {
      const word = slots[at] ?? 0;
      const seq_low = slots[at + 2] ?? 0;
      if (seq_low === 0 && (word & 0xff) === 0) return found ?? NONE;
      if (slots[at + 1] === low && word >>> 8 === wanted)
        (found ??= []).push((word & 0xff) * 2 ** 32 + seq_low);
    }
  }

  #put(word: number, low: number, seq_low: number): void {
    const { slots } = this;
    let at = this.#start(low);
    while (slots[at + 2] !== 0 || ((slots[at] ?? 0) & 0xff) !== 0) at = this.#next(at);
    slots[at] = word;
    slots[at + 1] = low;
    slots[at + 2] = seq_low;
  }

  #start(low: number): number {
    return Math.floor((low * this.#capacity) / 2 ** 32) * WORDS;
  }

  #next(at: number): number {
    return at + WORDS === this.slots.length ? 0 : at + WORDS;
  }

  #grow(): void {
    const old = this.slots;
    this.#capacity = Math.floor(this.#capacity * 1.5);
    this.slots = new Uint32Array(this.#capacity * WORDS);
    for (let at = 0; at < old.length; at += WORDS) {
      const word = old[at] ?? 0;
      const seq_low = old[at + 2] ?? 0;
      if (seq_low !== 0 || (word & 0xff) !== 0) this.#put(word, old[at + 1] ?? 0, seq_low);
    }
  }
}
