import { TABLES, tableOf } from "./fingerprints.ts";

/** Entries to be added in the order of the index's tables. */
export class EntryBlock {
  count = 0;
  readonly #highs: Uint32Array;
  readonly #lows: Uint32Array;
  readonly #seqs: Float64Array;
  readonly #order: Uint32Array;

  constructor(size: number) {
    this.#highs = new Uint32Array(size);
    this.#lows = new Uint32Array(size);
    this.#seqs = new Float64Array(size);
    this.#order = new Uint32Array(size);
  }

  add(high: number, low: number, seq: number): void {
    this.#highs[this.count] = high;
    this.#lows[this.count] = low;
    this.#seqs[this.count++] = seq;
  }

  flush(add: (high: number, low: number, seq: number) => void): void {
    // A counting sort: where each table's entries begin, then each entry to its place.
    const starts = new Uint32Array(TABLES + 1);
    for (let i = 0; i < this.count; i++) {
      const next = tableOf(this.#highs[i] ?? 0) + 1;
      starts[next] = (starts[next] ?? 0) + 1;
    }
    for (let table = 0; table < TABLES; table++) {
      starts[table + 1] = (starts[table + 1] ?? 0) + (starts[table] ?? 0);
    }
    for (let i = 0; i < this.count; i++) {
      const table = tableOf(this.#highs[i] ?? 0);
      const place = starts[table] ?? 0;
      starts[table] = place + 1;
      this.#order[place] = i;
    }
    for (let place = 0; place < this.count; place++) {
      const i = this.#order[place] ?? 0;
      add(this.#highs[i] ?? 0, this.#lows[i] ?? 0, this.#seqs[i] ?? 0);
    }
    this.count = 0;
  }
}
