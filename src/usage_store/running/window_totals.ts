import type { Aggregation } from "../meter.ts";
import type { MetadataObject, MeterReader, Millionths } from "../meter_reader.ts";
import type { GroupTotal, TotalWindow, Watch } from "../running_totals.ts";
import { memberHash } from "./member_set.ts";
import { addMember, addTally, addValue, quantityOf, Tally } from "./tally.ts";

/** An event, as totals take it. */
export interface TotaledEvent {
  timestamp: number;
  id: string;
  usage: Millionths;
}

/** The tallies of a stretch of time: of all its events, or by group. */
export class Cell implements TotalWindow {
  readonly start_ms: number;
  readonly end_ms: number;
  readonly whole_ms: number;
  /** Of a watch without groups. */
  only: Tally | undefined;
  groups: Map<string | null, Tally> | undefined;

  constructor({ start_ms, end_ms, whole_ms }: TotalWindow) {
    this.start_ms = start_ms;
    this.end_ms = end_ms;
    this.whole_ms = whole_ms;
  }

  /** The tally of a group, which there is from now on. */
  tallyOf(has_groups: boolean, group: string | null): Tally {
    if (!has_groups) return (this.only ??= new Tally());
    this.groups ??= new Map();
    let tally = this.groups.get(group);
    if (tally === undefined) {
      tally = new Tally();
      this.groups.set(group, tally);
    }
    return tally;
  }

  set(has_groups: boolean, group: string | null, tally: Tally): void {
    if (has_groups) (this.groups ??= new Map()).set(group, tally);
    else this.only = tally;
  }

  /** As `tallyOf`, undefined for none. */
  find(has_groups: boolean, group: string | null): Tally | undefined {
    return has_groups ? this.groups?.get(group) : this.only;
  }

  entries(): [group: string | null, Tally][] {
    return [...(this.groups ?? []), ...(this.only === undefined ? [] : [[null, this.only] as [null, Tally]])];
  }
}

/** What is the same for all containers of a watch's totals. */
export class TotalsRule {
  readonly watch: Watch;
  readonly reader: MeterReader;
  readonly aggregation: Aggregation;
  readonly has_groups: boolean;
  /** Whether what was before a window changes its quantity. */
  readonly looks_back: boolean;
  readonly #secret: string;

  /** `secret`: of the hashes of texts. */
  constructor(watch: Watch, reader: MeterReader, secret: string) {
    const { aggregation, carry_over } = watch.meter;
    this.watch = watch;
    this.reader = reader;
    this.aggregation = aggregation;
    this.has_groups = watch.per !== null;
    this.looks_back = aggregation === "weighted_sum" || (aggregation === "latest" && carry_over);
    this.#secret = secret;
  }

  /** The first window of which there are totals. */
  get first_window(): TotalWindow {
    return this.watch.calendar.at(this.watch.from_ms);
  }

  /** Adds a text that `unique` counts. */
  addText(tally: Tally, text: string): void {
    addMember(tally, memberHash(this.#secret, text));
  }

  /** Adds an event that meets the filters to a cell; one without a value is skipped. */
  addTo(cell: Cell, event: TotaledEvent, object: MetadataObject): void {
    if (this.aggregation === "unique") {
      const text = this.reader.textOf(object);
      if (text !== null) this.addText(cell.tallyOf(this.has_groups, this.reader.groupOf(object)), text);
      return;
    }
    const value = this.reader.valueOf(event.usage, object);
    if (value === null) return;
    const tally = cell.tallyOf(this.has_groups, this.reader.groupOf(object));
    addValue(tally, this.aggregation, { ...event, value }, cell.start_ms);
  }
}

/** The totals of a watch, by window: of the window that begins at `floor_ms` and all later ones. */
export class WindowTotals {
  readonly #rule: TotalsRule;
  #floor_ms: number;
  /** Ascending; a window without events has none. */
  #cells: Cell[] = [];
  /** Of a watch that looks back: what was from `since_ms` to the floor. */
  #before: Cell | undefined;

  constructor(rule: TotalsRule, floor_ms = rule.first_window.start_ms) {
    this.#rule = rule;
    this.#floor_ms = floor_ms;
  }

  get floor_ms(): number {
    return this.#floor_ms;
  }

  /** What there is, the stretch before the windows first. */
  get cells(): readonly Cell[] {
    return this.#before === undefined ? this.#cells : [this.#before, ...this.#cells];
  }

  /** Adds an event; one outside of all windows changes nothing. */
  add(event: TotaledEvent, object: MetadataObject): void {
    const rule = this.#rule;
    if (!this.#holds(event.timestamp) || !rule.reader.passes(object)) return;
    rule.addTo(this.#cellAt(event.timestamp), event, object);
  }

  #holds(timestamp: number): boolean {
    return timestamp >= (this.#rule.looks_back ? this.#rule.watch.since_ms : this.#floor_ms);
  }

  /** The cell of an instant that it holds, which there is from now on. */
  #cellAt(ms: number): Cell {
    if (ms < this.#floor_ms) return (this.#before ??= this.#newBefore());
    const cells = this.#cells;
    // Mostly that of the last window.
    let after = cells.length;
    while (after > 0 && (cells[after - 1]?.start_ms ?? 0) > ms) after--;
    const found = cells[after - 1];
    if (found !== undefined && ms < found.end_ms) return found;
    const cell = new Cell(this.#rule.watch.calendar.at(ms));
    cells.splice(after, 0, cell);
    return cell;
  }

  #newBefore(): Cell {
    const { since_ms } = this.#rule.watch;
    return new Cell({ start_ms: since_ms, end_ms: this.#floor_ms, whole_ms: 1 });
  }

  /** Adds the tallies of other events: of a window, or of the stretch before all. */
  addCell(other: Cell): void {
    const is_before = other.start_ms < this.#floor_ms;
    if (is_before && !this.#rule.looks_back) return;
    const cell = is_before ? (this.#before ??= this.#newBefore()) : this.#cellAt(other.start_ms);
    this.#addTallies(cell, other);
  }

  #addTallies(cell: Cell, other: Cell): void {
    for (const [group, tally] of other.entries())
      addTally(cell.tallyOf(this.#rule.has_groups, group), this.#rule.aggregation, tally);
  }

  /** Forgets windows that end by `ms`; of a watch that looks back they become a part of what was before. */
  forgetBefore(ms: number): void {
    if (ms <= this.#floor_ms) return;
    this.#floor_ms = this.#rule.watch.calendar.at(ms).start_ms;
    const past = this.#cells.filter(({ start_ms }) => start_ms < this.#floor_ms);
    this.#cells = this.#cells.slice(past.length);
    for (const cell of past) this.addCell(cell);
  }

  /** The quantities of a window by group; of a watch that looks back also those of groups that are only before it. */
  quantities(ms: number): Omit<GroupTotal, "certain">[] {
    const window = this.#windowAt(ms);
    const earlier = this.#earlierThan(window);
    const groups = new Set(
      [...(window.cell?.entries() ?? []), ...earlier.flatMap((cell) => cell.entries())].map(
        ([group]) => group,
      ),
    );
    return [...groups].map((group) => ({ group, quantity: this.#quantity(window, earlier, group) }));
  }

  /** The quantity of a window's group. */
  quantity(ms: number, group: string | null): string {
    const window = this.#windowAt(ms);
    return this.#quantity(window, this.#earlierThan(window), group);
  }

  #windowAt(ms: number): { window: TotalWindow; cell: Cell | undefined } {
    const cell = this.#cells.findLast(({ start_ms, end_ms }) => ms >= start_ms && ms < end_ms);
    return { window: cell ?? this.#rule.watch.calendar.at(ms), cell };
  }

  /** What goes over to a window. */
  #earlierThan({ window }: { window: TotalWindow }): readonly Cell[] {
    if (!this.#rule.looks_back) return [];
    return this.cells.filter((cell) => cell === this.#before || cell.start_ms < window.start_ms);
  }

  #quantity(
    { window, cell }: { window: TotalWindow; cell: Cell | undefined },
    earlier: readonly Cell[],
    group: string | null,
  ): string {
    const { aggregation, has_groups } = this.#rule;
    let before: Tally | undefined;
    for (const past of earlier) {
      const tally = past.find(has_groups, group);
      if (tally !== undefined) addTally((before ??= new Tally()), aggregation, tally);
    }
    return quantityOf(aggregation, cell?.find(has_groups, group), window, before);
  }
}
