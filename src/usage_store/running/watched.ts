import type { GroupTotal, Total, TotalWindow, Watch, WatchedTotals } from "../running_totals.ts";
import type { GroupBudget } from "./group_budget.ts";
import type { StoredTotals } from "./stored_totals.ts";
import { type TotalsRule, WindowTotals } from "./window_totals.ts";

/** Who keeps a watch. */
interface Keeper {
  drop(watched: Watched): void;
  /** False while it may not be told of every commit. */
  readonly is_trusted: boolean;
}

/**
 * A watch and its totals. While the stored events are counted, up to a number, it holds those that came since; then what
 * was counted is added.
 */
export class Watched extends WindowTotals implements WatchedTotals {
  /** Another watch of the same subscription: a list takes more memory than the totals. */
  next: Watched | undefined;
  /** What an earlier process wrote down of it, until that is read. */
  stored: StoredTotals | undefined;
  #is_certain = false;
  /** Numbers the countings: the result of an earlier one is not that of the present. */
  #counting = 0;
  readonly #keeper: Keeper;

  constructor(watch: Watch, rule: TotalsRule, keeper: Keeper, budget: GroupBudget) {
    super(watch, rule, undefined, budget);
    this.#keeper = keeper;
  }

  get is_certain(): boolean {
    return this.#is_certain && this.#keeper.is_trusted;
  }

  at(ms: number, group: string | null = null): Total {
    if (ms < this.floor_ms) return { quantity: "0", certain: false };
    return { quantity: this.quantity(ms, group), certain: this.is_certain && !this.lacks(ms, group) };
  }

  *groupsAt(ms: number): Generator<GroupTotal> {
    if (ms < this.floor_ms) return;
    for (const total of this.quantities(ms))
      yield { ...total, certain: this.is_certain && !this.lacks(ms, total.group) };
  }

  close(): void {
    this.distrust();
    this.clear();
    this.#keeper.drop(this);
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
    this.clear();
    return ++this.#counting;
  }

  /** Adds what a counting found, unless another one began since. */
  join(counting: number, counted: WindowTotals): void {
    if (counting !== this.#counting) return;
    for (const cell of counted.cells) this.addCell(cell);
    this.#is_certain = true;
    this.stored = undefined;
  }

  /** From where on stored events are counted. */
  get reads_from_ms(): number {
    return this.rule.looks_back ? this.watch.since_ms : this.floor_ms;
  }

  /** The stretches to count, the last of which is the first window. Few events have a timestamp after it. */
  stretches(): TotalWindow[] {
    const { since_ms, calendar } = this.watch;
    const { floor_ms } = this;
    const window = calendar.at(floor_ms);
    if (!this.rule.looks_back || since_ms >= floor_ms) return [window];
    return [{ start_ms: since_ms, end_ms: floor_ms, whole_ms: 1 }, window];
  }
}
