import type { Aggregation } from "../meter.ts";
import type { MetadataObject, MeterReader, Millionths } from "../meter_reader.ts";
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

  /** Adds a text that `unique` counts. */
  addText(tally: Tally, text: string): void {
    addMember(tally, memberHash(this.#secret, text));
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
    addValue(this.#tallyOf(cell, object), this.aggregation, value, event, cell.start_ms);
  }

  #tallyOf(cell: Cell, object: MetadataObject): Tally {
    return this.has_groups ? cell.tallyOf(this.reader.groupOf(object)) : cell.tally;
  }
}

/** The tallies of a stretch of time: of all its events, or by group. */
export class Cell {
  readonly start_ms: number;
  readonly end_ms: number;
  #tallies: Tally | Map<string | null, Tally> | undefined;

  constructor({ start_ms, end_ms }: Pick<TotalWindow, "start_ms" | "end_ms">) {
    this.start_ms = start_ms;
    this.end_ms = end_ms;
  }

  /** That of a cell without groups. */
  get tally(): Tally {
    if (this.#tallies instanceof Tally) return this.#tallies;
    const tally = new Tally();
    this.#tallies = tally;
    return tally;
  }

  /** That of a group. */
  tallyOf(group: string | null): Tally {
    if (!(this.#tallies instanceof Map)) this.#tallies = new Map();
    const known = this.#tallies.get(group);
    if (known !== undefined) return known;
    const tally = new Tally();
    this.#tallies.set(group, tally);
    return tally;
  }

  /** As `tallyOf`, of the null group that of a cell without groups; undefined for none. */
  find(group: string | null): Tally | undefined {
    if (this.#tallies instanceof Map) return this.#tallies.get(group);
    return group === null ? this.#tallies : undefined;
  }

  entries(): [group: string | null, Tally][] {
    if (this.#tallies instanceof Map) return [...this.#tallies];
    return this.#tallies === undefined ? [] : [[null, this.#tallies]];
  }
}

/** The totals of a watch, by window: of the window that begins at `floor_ms` and all later ones. */
export class WindowTotals {
  readonly watch: Watch;
  readonly rule: TotalsRule;
  #floor_ms: number;
  /** The cell of the last window that has events, and those before it. */
  #last: Cell | undefined;
  #others: Cell[] | undefined;
  /** Of a watch that looks back: what was from `since_ms` to the floor. */
  #before: Cell | undefined;

  constructor(watch: Watch, rule: TotalsRule, floor_ms = watch.calendar.at(watch.from_ms).start_ms) {
    this.watch = watch;
    this.rule = rule;
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
    const cell = new Cell(this.watch.calendar.at(ms));
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
    this.#before ??= new Cell({ start_ms: this.watch.since_ms, end_ms: this.#floor_ms });
    return this.#before;
  }

  /** Adds the tallies of other events: of a window, or of the stretch before all. */
  addCell(other: Cell): void {
    const is_before = other.start_ms < this.#floor_ms;
    if (is_before && !this.rule.looks_back) return;
    const cell = is_before ? this.#beforeCell() : this.#cellAt(other.start_ms);
    for (const [group, tally] of other.entries())
      addTally(this.rule.has_groups ? cell.tallyOf(group) : cell.tally, this.rule.aggregation, tally);
  }

  /** Forgets windows that end by `ms`; of a watch that looks back they become a part of what was before. */
  forgetBefore(ms: number): void {
    if (ms <= this.#floor_ms) return;
    this.#floor_ms = this.watch.calendar.at(ms).start_ms;
    const before = this.#before;
    const cells = this.cells.filter((cell) => cell !== before);
    this.clear();
    this.#before = before;
    for (const cell of cells) this.addCell(cell);
  }

  /** The quantities of a window by group; of a watch that looks back also those of groups that are only before it. */
  quantities(ms: number): Omit<GroupTotal, "certain">[] {
    const [window, cell] = [this.#windowAt(ms), this.#findCell(ms)];
    const earlier = this.#earlierThan(window);
    const entries = [cell, ...earlier].flatMap((one) => one?.entries() ?? []);
    return [...new Set(entries.map(([group]) => group))].map((group) => ({
      group,
      quantity: this.#quantity(window, cell, earlier, group),
    }));
  }

  /** The quantity of a window's group. */
  quantity(ms: number, group: string | null): string {
    const window = this.#windowAt(ms);
    return this.#quantity(window, this.#findCell(ms), this.#earlierThan(window), group);
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
