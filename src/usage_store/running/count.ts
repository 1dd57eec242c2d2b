import type { MetadataObject } from "../meter_reader.ts";
import { parseMetadata } from "../metadata.ts";
import type { MeterUse } from "../meter.ts";
import type { TotalWindow } from "../running_totals.ts";
import { readTotals, type StoredTotals, termsOf } from "./stored_totals.ts";
import type { EventPlace, NumberedEvent, TallyRow, TotalsSource } from "./totals_source.ts";
import type { Watched } from "./watched.ts";
import { Cell, WindowTotals } from "./window_totals.ts";

/** What was counted of a watch. */
type Counts = Map<Watched, WindowTotals>;

/** Counts the stored events of watches of one company up to a number, that of a whole commit. */
export async function countStored(
  source: TotalsSource,
  company_id: number,
  batch: readonly Watched[],
  last_seq: number,
): Promise<Counts> {
  const counts: Counts = new Map();
  const uses = new Uses();
  const placed = batch.flatMap((watched) => {
    counts.set(watched, new WindowTotals(watched.watch, watched.rule, watched.floor_ms));
    const use = uses.positionOf(watched);
    return watched.stretches().map((stretch) => ({ watched, stretch, use }));
  });
  const windows = placed.map(({ watched: { watch }, stretch: { start_ms, end_ms }, use }) => ({
    subscription_id: watch.subscription_id,
    start_ms,
    end_ms,
    use,
  }));
  const rows = await source.tally({ company_id, uses: uses.all, windows, last_seq });
  for (const [position, found] of Map.groupBy(rows, ({ window }) => window)) {
    const { watched, stretch } = placed[position] ?? {};
    if (watched === undefined || stretch === undefined)
      throw new RangeError(`Cannot place a tally: there is no window ${position}`);
    counts.get(watched)?.addCell(cellOf(watched, stretch, found));
  }
  await countLater(source, { company_id, last_seq }, counts);
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
    if (text === null) Object.assign(tally, { value, more });
    else rule.addText(tally, text);
  }
  return cell;
}

/** Counts the events after the first window one by one: from when they are, nobody knows. */
async function countLater(
  source: TotalsSource,
  range: { company_id: number; last_seq: number },
  counts: Counts,
): Promise<void> {
  const later = [...counts].map(([watched, totals]) => {
    const from_ms = watched.stretches().at(-1)?.end_ms ?? 0;
    return { watched, totals, from_ms };
  });
  const bySubscription = Map.groupBy(later, ({ watched }) => watched.watch.subscription_id);
  const from_ms = later.reduce((least, { from_ms: from }) => Math.min(least, from), Number.MAX_SAFE_INTEGER);
  const subscription_ids = [...bySubscription.keys()];
  const isWanted = ({ subscription_id }: EventPlace): boolean => bySubscription.has(subscription_id);
  await source.readEvents({ ...range, subscription_ids, from_ms }, isWanted, (event) => {
    const object = objectOf(event);
    for (const { totals, from_ms: own_ms } of bySubscription.get(event.subscription_id) ?? [])
      if (event.timestamp >= own_ms) totals.add(event, object);
  });
}

/** Completes what was written down of watches with the events that came since, up to a number. */
export async function completeStored(
  source: TotalsSource,
  batch: readonly (readonly [Watched, StoredTotals])[],
  last_seq: number,
): Promise<Counts> {
  const counts: Counts = new Map(
    batch.map(([watched, stored]) => [watched, readTotals(watched.watch, watched.rule, stored)]),
  );
  const bySubscription = Map.groupBy(batch, ([{ watch }]) => placeOf(watch));
  const after_seq = batch.reduce((least, [, { seq }]) => Math.min(least, seq), last_seq);
  if (after_seq === last_seq) return counts;
  const isWanted = (place: EventPlace): boolean => bySubscription.has(placeOf(place));
  await source.readEvents({ after_seq, last_seq }, isWanted, (event) => {
    const object = objectOf(event);
    for (const [watched, { seq }] of bySubscription.get(placeOf(event)) ?? [])
      if (event.seq > seq) counts.get(watched)?.add(event, object);
  });
  return counts;
}

function placeOf({ company_id, subscription_id }: EventPlace): number {
  return company_id * 2 ** 31 + subscription_id;
}

function objectOf({ metadata }: NumberedEvent): MetadataObject {
  return metadata === null ? null : parseMetadata(metadata);
}
