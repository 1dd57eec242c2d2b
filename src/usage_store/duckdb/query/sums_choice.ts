import { type EventFilter, type GroupKind, isTime, metadataKeyOf } from "../../port.ts";
import { isByTime } from "../../query/time_range.ts";
import { DAY_MS, HOUR_MS } from "../../time_buckets.ts";
import type { Summed } from "../maintain/group_sums.ts";
import type { GroupRows } from "./group_rows.ts";
import { keysOfValues } from "./rollup.ts";
import { type Cover, coverByDays, coverByHours } from "./sums_cover.ts";
import { type AskedSums, type SumsKind, VALUE_COLUMNS } from "./sums_kind.ts";

/** A question for sums, by whatever groups. */
export interface SummedQuery extends EventFilter {
  group_by: readonly GroupKind[];
}

/** How a question cuts its time. */
export interface Cuts {
  /** Whether every hour of UTC lies in one bucket, but for those at both ends. */
  hold_hours: boolean;
  /**
   * Where buckets begin, and the last one ends; without an end of time where it excludes nothing: infinite. Undefined for
   * hours, and where there are too many.
   */
  edges?: readonly number[] | undefined;
}

/** What group sums answer a question from, but for its time; undefined where only events do. */
function variantsOf(wanted: SummedQuery): SumsKind[] | undefined {
  const grouped = wanted.group_by.map(metadataKeyOf).filter((key) => key !== undefined);
  const filtered = keysOfValues(wanted);
  if (filtered === undefined) return undefined;
  const keys = [...new Set([...grouped, ...filtered])].toSorted();
  if (keys.length > VALUE_COLUMNS.length) return undefined;
  const by_subscription = { is_by_subscription: true, keys };
  const is_whole = wanted.subscription_ids === undefined && !wanted.group_by.includes("subscription");
  // By values alone they are the fewest.
  return is_whole && keys.length > 0
    ? [{ is_by_subscription: false, keys }, by_subscription]
    : [by_subscription];
}

/** The rows of the group sums that answer a question, the fewest of those that there are; undefined where there are none. */
export function groupRowsOf(
  wanted: SummedQuery,
  cuts: Cuts,
  summed: Summed | undefined,
): GroupRows | undefined {
  const present = summed?.kinds.get(wanted.company_id);
  if (summed === undefined || present === undefined) return undefined;
  for (const variant of variantsOf(wanted) ?? []) {
    const same = [...present.values()].filter((kind) => isVariant(kind, variant));
    const has_hours = cuts.hold_hours && same.some(isByHour);
    const cover = daysCover(cuts, same, has_hours) ?? (has_hours ? coverByHours(wanted) : undefined);
    if (cover !== undefined) return { ...variant, seq: summed.seq, cover };
  }
  return undefined;
}

/** The share of all time that days may leave to be read from the events: where hours would answer, these are few, too. */
const MAX_REST_SHARE = { without_hours: 1 / 8, with_hours: 1 / 100 };

function daysCover({ edges }: Cuts, kinds: readonly SumsKind[], has_hours: boolean): Cover | undefined {
  const day_starts = kinds.map(({ day_start_ms }) => day_start_ms).filter((ms) => ms !== undefined);
  if (edges === undefined || day_starts.length === 0) return undefined;
  return coverByDays(edges, day_starts, MAX_REST_SHARE[has_hours ? "with_hours" : "without_hours"]);
}

const isByHour = ({ day_start_ms }: SumsKind) => day_start_ms === undefined;

function isVariant(kind: SumsKind, variant: SumsKind): boolean {
  return (
    kind.is_by_subscription === variant.is_by_subscription &&
    kind.keys.length === variant.keys.length &&
    kind.keys.every((key, i) => key === variant.keys[i])
  );
}

/**
 * The sums that a question asks for; missing are those by hour first, which answer most, then those by day, far fewer: of
 * many events these are missing also where those by hour answer.
 */
export function askedSums(
  wanted: SummedQuery,
  cuts: Cuts,
  summed: Summed | undefined,
  reads_many: boolean,
): AskedSums {
  const found = groupRowsOf(wanted, cuts, summed);
  const [variant] = variantsOf(wanted) ?? [];
  const starts = found?.cover.whole.map(({ day_start_ms }) => day_start_ms) ?? [];
  const used = starts.filter((start) => start !== undefined);
  // Those by metadata keys are few by hour, too.
  const is_enough = found !== undefined && (!reads_many || used.length > 0 || found.keys.length > 0);
  // Sums by hour alone are always there.
  const has_hours = cuts.hold_hours && isByTime(wanted) && wanted.group_by.every(isTime);
  if (variant === undefined || has_hours || is_enough) return { day_starts: used, missing: [] };
  const day_starts = cuts.edges === undefined ? [] : dayStarts(cuts.edges);
  const by_day = day_starts.map((day_start_ms) => ({ ...variant, day_start_ms }));
  const needs_hours = cuts.hold_hours && found === undefined;
  return {
    day_starts,
    missing: [...(needs_hours ? [[variant]] : []), ...(by_day.length > 0 ? [by_day] : [])],
  };
}

/** Zones with summer time have days with two beginnings. */
const MAX_DAY_STARTS = 2;
/** What the offset of every zone is a multiple of. */
const OFFSET_STEP_MS = HOUR_MS / 4;
const SHORTEST_DAY_MS = 23 * HOUR_MS;

/**
 * When the days begin by which buckets are counted best, in ms after UTC's: as many beginnings as buckets between the
 * first and the last have; none where days are no use.
 */
function dayStarts(edges: readonly number[]): number[] {
  const [start_ms = 0, end_ms = 0] = [edges[0], edges.at(-1)];
  if (end_ms - start_ms < 2 * DAY_MS) return [];
  const inner = [...new Set(edges.slice(1, -1))];
  const is_by_days = inner.slice(1).every((edge, i) => edge - (inner[i] ?? 0) >= SHORTEST_DAY_MS);
  if (!is_by_days) return [];
  // One bucket is counted by days of any beginning.
  const [one = 0] = [start_ms, end_ms].filter((edge) => edge % OFFSET_STEP_MS === 0);
  const starts = new Set((inner.length === 0 ? [one] : inner).map((edge) => edge % DAY_MS));
  const is_of_a_zone = [...starts].every((start) => start % OFFSET_STEP_MS === 0);
  return is_of_a_zone && starts.size <= MAX_DAY_STARTS ? [...starts] : [];
}
