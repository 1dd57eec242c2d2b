import type { MetadataObject } from "../meter_reader.ts";
import type { GroupTotal, Total, TotalWindow, Watch, WatchedTotals } from "../running_totals.ts";
import type { StoredTotals } from "./stored_totals.ts";
import { type TotaledEvent, type TotalsRule, WindowTotals } from "./window_totals.ts";

/**
 * A watch and its totals. While the stored events are counted, up to a number, the totals hold those that came since;
 * then what was counted is added.
 */
export class Watched implements WatchedTotals {
  readonly rule: TotalsRule;
  /** What an earlier process wrote down of it, until that is read. */
  stored: StoredTotals | undefined;
  #totals: WindowTotals;
  #is_certain = false;
  /** Numbers the countings: the result of an earlier one is not that of the present. */
  #counting = 0;
  readonly #onClose: (watched: Watched) => void;

  constructor(rule: TotalsRule, stored: StoredTotals | undefined, onClose: (watched: Watched) => void) {
    this.rule = rule;
    this.stored = stored;
    this.#totals = new WindowTotals(rule);
    this.#onClose = onClose;
  }

  get watch(): Watch {
    return this.rule.watch;
  }

  get is_certain(): boolean {
    return this.#is_certain;
  }

  get totals(): WindowTotals {
    return this.#totals;
  }

  at(ms: number, group: string | null = null): Total {
    if (ms < this.#totals.floor_ms) return { quantity: "0", certain: false };
    return { quantity: this.#totals.quantity(ms, group), certain: this.#is_certain };
  }

  groupsAt(ms: number): GroupTotal[] {
    if (ms < this.#totals.floor_ms) return [];
    return this.#totals.quantities(ms).map((total) => ({ ...total, certain: this.#is_certain }));
  }

  close(): void {
    this.distrust();
    this.#onClose(this);
  }

  add(event: TotaledEvent, object: MetadataObject): void {
    this.#totals.add(event, object);
  }

  forgetBefore(ms: number): void {
    this.#totals.forgetBefore(ms);
  }

  /** The totals are not certain until they are counted anew. */
  distrust(): void {
    this.#is_certain = false;
    this.#counting++;
    this.stored = undefined;
  }

  /** Begins a counting of the events that are stored by now, and returns its number. */
  begin(): number {
    this.#is_certain = false;
    this.#totals = new WindowTotals(this.rule, this.#totals.floor_ms);
    return ++this.#counting;
  }

  /** Adds what a counting found, unless another one began since. */
  join(counting: number, counted: WindowTotals): void {
    if (counting !== this.#counting) return;
    for (const cell of counted.cells) this.#totals.addCell(cell);
    this.#is_certain = true;
    this.stored = undefined;
  }

  /** From where on stored events are counted. */
  get reads_from_ms(): number {
    return this.rule.looks_back ? this.watch.since_ms : this.#totals.floor_ms;
  }

  /** The stretches to count, the last of which is the first window. Few events have a timestamp after it. */
  stretches(): TotalWindow[] {
    const { since_ms, calendar } = this.watch;
    const { floor_ms } = this.#totals;
    const window = calendar.at(floor_ms);
    if (!this.rule.looks_back || since_ms >= floor_ms) return [window];
    return [{ start_ms: since_ms, end_ms: floor_ms, whole_ms: 1 }, window];
  }
}
