import type { ReadTx } from "../../store/store.ts";
import type { SeriesKey, SeriesLine, SeriesResult } from "../../usage_store/series.ts";
import { namesOf } from "./groups.ts";
import type { UsageField } from "../filters/model.ts";
import type { Group, Line } from "./model.ts";

/** The lines of an answer on the wire. */
export interface Lines {
  total: Line;
  groups: Group[];
  other: Line | null;
}

/** Whether what is not there counts as zero; a mean of nothing is nothing. */
export type Nothing = 0 | null;

/** Reads the store's lines. Buckets before `unread` have not been read, and have no value yet. */
export async function linesOf(
  tx: ReadTx,
  { total, groups, other }: SeriesResult,
  fields: readonly UsageField[],
  { buckets, nothing, unread = 0 }: { buckets: number; nothing: Nothing; unread?: number },
): Promise<Lines> {
  const names = await Promise.all(
    fields.map((field, i) => namesOf(tx, field, [...new Set(groups.map(({ keys }) => keys[i] ?? null))])),
  );
  const lineOf = ({ value, buckets: of_line }: SeriesLine): Line => ({
    value: value === null ? null : Number(value),
    values: Array.from({ length: buckets }, (_, i) => {
      const of_bucket = of_line.get(i);
      if (i < unread) return null;
      return of_bucket === undefined ? nothing : Number(of_bucket);
    }),
  });
  return {
    total: lineOf(total),
    groups: groups.map((group) => {
      const named = names.map((name, i) => name(keyAt(group.keys, i)));
      return {
        keys: named.map(({ key }) => key),
        names: named.map(({ name }) => name),
        ids: named.map(({ id }) => id),
        ...lineOf(group),
      };
    }),
    other: other === null ? null : lineOf(other),
  };
}

const keyAt = (keys: readonly SeriesKey[], position: number): SeriesKey => keys[position] ?? null;
