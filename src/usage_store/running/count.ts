import { chunks } from "../../core/chunk.ts";
import type { MetadataObject } from "../meter_reader.ts";
import { parseMetadata } from "../metadata.ts";
import type { MeterUse } from "../meter.ts";
import type { TotalWindow } from "../running_totals.ts";
import { readTotals, type StoredTotals, termsOf } from "./stored_totals.ts";
import type { EventPlace, NumberedEvent, TallyRow, TallyWindow, TotalsSource } from "./totals_source.ts";
import type { Watched } from "./watched.ts";
import { Cell, MAX_GROUPS, WindowTotals } from "./window_totals.ts";

/** Watches that are counted by one statement. */
export const BATCH = 2_000;

/** What was counted of a watch. */
type Counts = Map<Watched, WindowTotals>;

/** A watch, and the number up to which its events are known: those after it are counted. 0: none. */
type Known = readonly [Watched, number];

/** Counts the stored events of watches of one company up to a number, that of a whole commit. */
export async function countStored(
  source: TotalsSource,
  company_id: number,
  batch: readonly Known[],
  last_seq: number,
): Promise<Counts> {
  const counts: Counts = new Map();
  const uses = new Uses();
  const placed = batch.flatMap(([watched, after_seq]) => {
    counts.set(watched, new WindowTotals(watched.watch, watched.rule, watched.floor_ms));
    const use = uses.positionOf(watched);
    return watched.stretches().map((stretch) => ({ watched, stretch, use, after_seq }));
  });
  const windows = placed.map(
    ({ watched: { watch }, stretch: { start_ms, end_ms }, use, after_seq }): TallyWindow => ({
      subscription_id: watch.subscription_id,
      start_ms,
      end_ms,
      use,
      after_seq,
    }),
  );
  const rows = await source.tally({ company_id, uses: uses.all, windows, last_seq });
  for (const [position, found] of Map.groupBy(rows, ({ window }) => window)) {
    const { watched, stretch } = placed[position] ?? {};
    if (watched === undefined || stretch === undefined)
      throw new RangeError(`Cannot place a tally: there is no window ${position}`);
    counts.get(watched)?.addCell(cellOf(watched, stretch, found));
  }
  await countLater(source, { company_id, last_seq }, batch, counts);
  return counts;
}

/** The different uses of watches. */
class Uses {
  readonly all: MeterUse[] = [];
  readonly #positions = new Map<string, number>();

  positionOf({ watch: { meter, per } }: Watched): number {
    const terms = JSON.stringify([termsOf(meter), per]);
    const known = this.#positions.get(terms);
    if (known !== undefined) return known;
    const position = this.all.push({ meter, parts: { keys: per === null ? [] : [per] } }) - 1;
    this.#positions.set(terms, position);
    return position;
  }
}

function cellOf({ rule }: Watched, stretch: TotalWindow, rows: readonly TallyRow[]): Cell {
  const cell = new Cell(stretch);
  for (const { group, value, more, text } of rows) {
    const tally = rule.has_groups ? cell.tallyOf(group) : cell.tally;
    if (text !== null) rule.addText(tally, text);
    else if (tally !== undefined) Object.assign(tally, { value, more });
  }
  // The engine tells of one more than are kept.
  if (rule.has_groups && new Set(rows.map(({ group }) => group)).size > MAX_GROUPS) cell.leaveOut("many");
  return cell;
}

/** Counts the events after the first window one by one: from when they are, nobody knows. */
async function countLater(
  source: TotalsSource,
  { company_id, last_seq }: { company_id: number; last_seq: number },
  batch: readonly Known[],
  counts: Counts,
): Promise<void> {
  const later = batch.map(([watched, after_seq]) => {
    const from_ms = watched.stretches().at(-1)?.end_ms ?? 0;
    return { watched, from_ms, after_seq };
  });
  const bySubscription = Map.groupBy(later, ({ watched }) => watched.watch.subscription_id);
  const range = {
    company_id,
    last_seq,
    after_seq: least(later.map(({ after_seq }) => after_seq)),
    subscription_ids: [...bySubscription.keys()],
    from_ms: least(later.map(({ from_ms }) => from_ms)),
  };
  const isWanted = ({ subscription_id }: EventPlace): boolean => bySubscription.has(subscription_id);
  await source.readEvents(range, isWanted, (event) => {
    const object = objectOf(event);
    for (const { watched, from_ms, after_seq } of bySubscription.get(event.subscription_id) ?? [])
      if (event.timestamp >= from_ms && event.seq > after_seq) counts.get(watched)?.add(event, object);
  });
}

const least = (numbers: readonly number[]): number =>
  numbers.reduce((a, b) => Math.min(a, b), Number.MAX_SAFE_INTEGER);

type Stored = readonly [Watched, StoredTotals];

/**
 * Completes what was written down of watches with the events that came since, up to a number. At most `read_events` are
 * read one by one, which takes 3 µs each of the process's one thread; more are counted by statements.
 */
export async function completeStored(
  source: TotalsSource,
  batch: readonly Stored[],
  last_seq: number,
  read_events: number,
): Promise<Counts> {
  const counts: Counts = new Map(
    batch.map(([watched, stored]) => [watched, readTotals(watched.watch, watched.rule, stored)]),
  );
  const after_seq = least([last_seq, ...batch.map(([, { seq }]) => seq)]);
  if (after_seq === last_seq) return counts;
  if (last_seq - after_seq <= read_events) await addRead(source, batch, counts, { after_seq, last_seq });
  else await addCounted(source, batch, counts, last_seq);
  return counts;
}

/** Adds the events since one by one. */
async function addRead(
  source: TotalsSource,
  batch: readonly Stored[],
  counts: Counts,
  range: { after_seq: number; last_seq: number },
): Promise<void> {
  const bySubscription = Map.groupBy(batch, ([{ watch }]) => placeOf(watch));
  const isWanted = (place: EventPlace): boolean => bySubscription.has(placeOf(place));
  await source.readEvents(range, isWanted, (event) => {
    const object = objectOf(event);
    for (const [watched, { seq }] of bySubscription.get(placeOf(event)) ?? [])
      if (event.seq > seq) counts.get(watched)?.add(event, object);
  });
}

/** Adds what the engine counts of the events since. */
async function addCounted(
  source: TotalsSource,
  batch: readonly Stored[],
  counts: Counts,
  last_seq: number,
): Promise<void> {
  for (const [company_id, of_company] of Map.groupBy(batch, ([{ watch }]) => watch.company_id)) {
    for (const part of chunks(of_company, BATCH)) {
      const known = part.map(([watched, { seq }]): Known => [watched, seq]);
      for (const [watched, since] of await countStored(source, company_id, known, last_seq))
        for (const cell of since.cells) counts.get(watched)?.addCell(cell);
    }
  }
}

function placeOf({ company_id, subscription_id }: EventPlace): number {
  return company_id * 2 ** 31 + subscription_id;
}

function objectOf({ metadata }: NumberedEvent): MetadataObject {
  return metadata === null ? null : parseMetadata(metadata);
}
