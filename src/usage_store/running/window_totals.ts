import type { Aggregation } from "../meter.ts";
import type { MetadataObject, MeterReader, Millionths } from "../meter_reader.ts";
import type { GroupBudget } from "./group_budget.ts";
import type { GroupTotal, TotalWindow, Watch } from "../running_totals.ts";
import { memberHash } from "./member_set.ts";
import { addMember, addTally, addValue, type LastEvent, quantityOf, Tally } from "./tally.ts";

/** An event, as totals take it. */
export interface TotaledEvent extends LastEvent {
  readonly usage: Millionths;
}

/** What watches of one meter and key have in common. */
export class TotalsRule {
  readonly reader: MeterReader;
  readonly aggregation: Aggregation;
  readonly has_groups: boolean;
  /** Whether what was before a window changes its quantity. */
  readonly looks_back: boolean;
  readonly #secret: string;

  /** `secret`: of the hashes of texts. */
  constructor({ meter: { aggregation, carry_over }, per }: Watch, reader: MeterReader, secret: string) {
    this.reader = reader;
    this.aggregation = aggregation;
    this.has_groups = per !== null;
    this.looks_back = aggregation === "weighted_sum" || (aggregation === "latest" && carry_over);
    this.#secret = secret;
  }

  /** Adds a text that `unique` counts; to none that is left out. */
  addText(tally: Tally | undefined, text: string): void {
    if (tally !== undefined) addMember(tally, memberHash(this.#secret, text));
  }

  /** Adds an event that meets the filters to a cell; one without a value is skipped. */
  addTo(cell: Cell, event: TotaledEvent, object: MetadataObject): void {
    if (this.aggregation === "unique") {
      const text = this.reader.textOf(object);
      if (text !== null) this.addText(this.#tallyOf(cell, object), text);
      return;
    }
    const value = this.reader.valueOf(event.usage, object);
    if (value === null) return;
    const tally = this.#tallyOf(cell, object);
    if (tally !== undefined) addValue(tally, this.aggregation, value, event, cell.start_ms);
  }

  #tallyOf(cell: Cell, object: MetadataObject): Tally | undefined {
    return this.has_groups ? cell.tallyOf(this.reader.groupOf(object)) : cell.tally;
  }
}

/** The groups of a window that have totals: whoever sends usage must not fill the memory. Decision 0254. */
export const MAX_GROUPS = 10_000;

/** A longer text than anybody may ask for has no total. */
export const MAX_GROUP_LENGTH = 400;

/** Groups without a total: those that came after so many, or only those with a long text. */
export type LeftOut = "many" | "long";

const isLong = (group: string | null): boolean => group !== null && group.length > MAX_GROUP_LENGTH;

/** The tallies of a stretch of time: of all its events, or by group. */
export class Cell {
  readonly start_ms: number;
  readonly end_ms: number;
  #tallies: Tally | Map<string | null, Tally> | undefined;
  #left_out: LeftOut | null = null;
  #budget: GroupBudget | undefined;

  /** `budget`: what its groups take their places from; without one they are bounded by `MAX_GROUPS` alone. */
  constructor({ start_ms, end_ms }: Pick<TotalWindow, "start_ms" | "end_ms">, budget?: GroupBudget) {
    this.start_ms = start_ms;
    this.end_ms = end_ms;
    this.#budget = budget;
  }

  /** That of a cell without groups. */
  get tally(): Tally {
    if (this.#tallies instanceof Tally) return this.#tallies;
    const tally = new Tally();
    this.#tallies = tally;
    return tally;
  }

  /** That of a group; undefined where it is left out. */
  tallyOf(group: string | null): Tally | undefined {
    if (!(this.#tallies instanceof Map)) this.#tallies = new Map();
    const known = this.#tallies.get(group);
    if (known !== undefined) return known;
    if (isLong(group)) {
      this.leaveOut("long");
      return undefined;
    }
    if (this.#left_out === "many") return undefined;
    if (this.#tallies.size >= MAX_GROUPS || this.#budget?.take() === false) {
      this.leaveOut("many");
      return undefined;
    }
    const tally = new Tally();
    this.#tallies.set(group, tally);
    return tally;
  }

  get left_out(): LeftOut | null {
    return this.#left_out;
  }

  /** Marks that groups are left out; "many" stays, since a group that comes again would be counted in part. */
  leaveOut(groups: LeftOut | null): void {
    if (this.#left_out !== "many") this.#left_out = groups ?? this.#left_out;
  }

  /** Leaves out the groups that another cell, of more events of the same groups, may have left out. */
  keepOnly(other: Cell): void {
    if (!(this.#tallies instanceof Map)) return;
    for (const group of this.#tallies.keys())
      if (other.find(group) === undefined && this.#tallies.delete(group)) this.#budget?.give(1);
  }

  /** Gives the places of its groups back: it is about to be forgotten. */
  release(): void {
    if (this.#tallies instanceof Map) this.#budget?.give(this.#tallies.size);
    this.#budget = undefined;
  }

  /** Whether it may lack events of a group. */
  lacks(group: string | null): boolean {
    if (this.#left_out === null || this.find(group) !== undefined) return false;
    return this.#left_out === "many" || isLong(group);
  }

  /** As `tallyOf`, of the null group that of a cell without groups; undefined for none. */
  find(group: string | null): Tally | undefined {
    if (this.#tallies instanceof Map) return this.#tallies.get(group);
    return group === null ? this.#tallies : undefined;
  }

  /** Those that come while they are gone through are among them. */
  get entries(): Iterable<readonly [group: string | null, Tally]> {
    if (this.#tallies instanceof Map) return this.#tallies;
    return this.#tallies === undefined ? [] : [[null, this.#tallies]];
  }
}

/** The totals of a watch, by window: of the window that begins at `floor_ms` and all later ones. */
export class WindowTotals {
  readonly watch: Watch;
  readonly rule: TotalsRule;
  readonly #budget: GroupBudget | undefined;
  #floor_ms: number;
  /** The cell of the last window that has events, and those before it. */
  #last: Cell | undefined;
  #others: Cell[] | undefined;
  /** Of a watch that looks back: what was from `since_ms` to the floor. */
  #before: Cell | undefined;

  /** `budget`: as of `Cell`. */
  constructor(
    watch: Watch,
    rule: TotalsRule,
    floor_ms = watch.calendar.at(watch.from_ms).start_ms,
    budget?: GroupBudget,
  ) {
    this.watch = watch;
    this.rule = rule;
    this.#budget = budget;
    this.#floor_ms = floor_ms;
  }

  get floor_ms(): number {
    return this.#floor_ms;
  }

  /** What there is in no particular order, the stretch before the windows too. */
  get cells(): readonly Cell[] {
    return [this.#before, this.#last, ...(this.#others ?? [])].filter((cell) => cell !== undefined);
  }

  /** Forgets all, to begin anew. */
  protected clear(): void {
    for (const cell of this.cells) cell.release();
    this.#last = undefined;
    this.#others = undefined;
    this.#before = undefined;
  }

  /** Adds an event; one outside of all windows changes nothing. */
  add(event: TotaledEvent, object: MetadataObject): void {
    const { rule } = this;
    if (!this.#holds(event.timestamp) || !rule.reader.passes(object)) return;
    rule.addTo(this.#cellAt(event.timestamp), event, object);
  }

  #holds(timestamp: number): boolean {
    return timestamp >= (this.rule.looks_back ? this.watch.since_ms : this.#floor_ms);
  }

  /** The cell of an instant that it holds, which there is from now on. */
  #cellAt(ms: number): Cell {
    if (ms < this.#floor_ms) return this.#beforeCell();
    const found = this.#findCell(ms);
    if (found !== undefined) return found;
    const cell = new Cell(this.watch.calendar.at(ms), this.#budget);
    if (this.#last === undefined) this.#last = cell;
    else {
      const [later, earlier] = cell.start_ms > this.#last.start_ms ? [cell, this.#last] : [this.#last, cell];
      this.#last = later;
      (this.#others ??= []).push(earlier);
    }
    return cell;
  }

  /** The cell of an instant at or after the floor; undefined for none. */
  #findCell(ms: number): Cell | undefined {
    const holds = ({ start_ms, end_ms }: Cell): boolean => ms >= start_ms && ms < end_ms;
    return this.#last !== undefined && holds(this.#last) ? this.#last : this.#others?.findLast(holds);
  }

  #beforeCell(): Cell {
    this.#before ??= new Cell({ start_ms: this.watch.since_ms, end_ms: this.#floor_ms }, this.#budget);
    return this.#before;
  }

  /** Adds the tallies of other events: of a window, or of the stretch before all. */
  addCell(other: Cell): void {
    const is_before = other.start_ms < this.#floor_ms;
    if (is_before && !this.rule.looks_back) return;
    const cell = is_before ? this.#beforeCell() : this.#cellAt(other.start_ms);
    if (other.left_out === "many") cell.keepOnly(other);
    for (const [group, tally] of other.entries) {
      const own = this.rule.has_groups ? cell.tallyOf(group) : cell.tally;
      if (own !== undefined) addTally(own, this.rule.aggregation, tally);
    }
    cell.leaveOut(other.left_out);
  }

  /** Forgets windows that end by `ms`; of a watch that looks back they become a part of what was before. */
  forgetBefore(ms: number): void {
    if (ms <= this.#floor_ms) return;
    this.#floor_ms = this.watch.calendar.at(ms).start_ms;
    const cells = this.cells;
    // In this turn nobody else takes the places that are given back.
    this.clear();
    for (const cell of cells) this.addCell(cell);
  }

  /** The quantities of a window by group; of a watch that looks back also those of groups that are only before it. */
  *quantities(ms: number): Generator<Omit<GroupTotal, "certain">> {
    const [window, cell] = [this.#windowAt(ms), this.#findCell(ms)];
    const earlier = this.#earlierThan(window);
    const cells = [cell, ...earlier].filter((one) => one !== undefined);
    for (const [i, { entries }] of cells.entries())
      for (const [group] of entries)
        if (cells.slice(0, i).every((one) => one.find(group) === undefined))
          yield { group, quantity: this.#quantity(window, cell, earlier, group) };
  }

  /** The quantity of a window's group. */
  quantity(ms: number, group: string | null): string {
    const window = this.#windowAt(ms);
    return this.#quantity(window, this.#findCell(ms), this.#earlierThan(window), group);
  }

  /** Whether the quantity may lack events of the group: it came after too many others. */
  lacks(ms: number, group: string | null): boolean {
    return this.rule.has_groups && this.#cellsOf(ms).some((cell) => cell.lacks(group));
  }

  /** Whether `quantities` are of all groups. */
  hasAllGroups(ms: number): boolean {
    return this.#cellsOf(ms).every(({ left_out }) => left_out === null);
  }

  /** The cells that a window's quantities are of. */
  #cellsOf(ms: number): Cell[] {
    return [this.#findCell(ms), ...this.#earlierThan(this.#windowAt(ms))].filter(
      (cell) => cell !== undefined,
    );
  }

  /** The window of an instant, where the quantity needs to know it: a calendar may take its time. */
  #windowAt(ms: number): TotalWindow {
    return this.rule.looks_back ? this.watch.calendar.at(ms) : ANY_WINDOW;
  }

  /** What goes over to a window. */
  #earlierThan(window: TotalWindow): readonly Cell[] {
    if (!this.rule.looks_back) return NOTHING;
    return this.cells.filter((cell) => cell === this.#before || cell.start_ms < window.start_ms);
  }

  #quantity(
    window: TotalWindow,
    cell: Cell | undefined,
    earlier: readonly Cell[],
    group: string | null,
  ): string {
    const { aggregation } = this.rule;
    let before: Tally | undefined;
    for (const past of earlier) {
      const tally = past.find(group);
      if (tally === undefined) continue;
      before ??= new Tally();
      addTally(before, aggregation, tally);
    }
    return quantityOf(aggregation, cell?.find(group), window, before);
  }
}

const NOTHING: readonly Cell[] = [];
const ANY_WINDOW: TotalWindow = { start_ms: 0, end_ms: 0, whole_ms: 1 };
