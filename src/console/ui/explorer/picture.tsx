import { useMemo, useRef } from "preact/hooks";
import type { SeriesFrame, UsageSeries } from "../../../usage/series/model.ts";
import { change, count, number, shortNumber } from "../../text/number.ts";
import { bucketName, instantMs, span, tickName } from "../../text/time.ts";
import { Button, LinkButton } from "../button.tsx";
import { Chart } from "../chart.tsx";
import type { Series } from "../chart_picture.tsx";
import { Table } from "../table.tsx";
import { addsUp, type ChartKind, type Explored } from "./question.ts";
import { COMPARE_NAMES, groupName, MEASURE_NAMES } from "./words.ts";

const COLOURS = 8;
/** The colour of all other groups together. */
export const OTHER_COLOUR = 8;

/** A group keeps its colour for as long as the page is there. */
export function useColours({ groups }: UsageSeries, by: readonly string[]): number[] {
  const kept = useRef(new Map<string, number>());
  const ids = groups.map(({ keys }) => JSON.stringify([by, keys]));
  const taken = new Set(ids.map((id) => kept.current.get(id)));
  return ids.map((id, i) => {
    const known = kept.current.get(id);
    if (known !== undefined) return known;
    const free = Array.from({ length: COLOURS }, (_, colour) => colour).find((colour) => !taken.has(colour));
    const colour = free ?? i % COLOURS;
    kept.current.set(id, colour);
    taken.add(colour);
    return colour;
  });
}

/** The lines of a chart: the groups and all others, or everything; what it is compared with as a ghost. */
function seriesOf(data: UsageSeries, of: Explored, kind: ChartKind, colours: readonly number[]): Series[] {
  const { groups, other, total, compare, group_count } = data;
  const lines: Series[] =
    of.by.length === 0
      ? [{ name: MEASURE_NAMES[data.measure], values: total.values, colour: 0 }]
      : groups.map(({ names, values }, i) => ({
          name: groupName(names, of.by),
          values,
          colour: colours[i] ?? 0,
        }));
  if (other !== null)
    lines.push({ name: otherName(group_count - groups.length), values: other.values, colour: OTHER_COLOUR });
  if (kind === "share") return lines.map((line) => ({ ...line, values: sharesOf(line, lines) }));
  // Beside lines of groups a line of everything would be out of scale.
  if (compare !== null && (of.by.length === 0 || kind === "stacked"))
    lines.push({ name: COMPARE_NAMES[of.compare], values: compare.total.values, is_ghost: true });
  return lines;
}

export const otherName = (groups: number): string => `Other (${number(groups)})`;

/** How much of each bucket is a line's, for the picture alone. */
const sharesOf = ({ values }: Series, lines: readonly Series[]) =>
  values.map((value, i) => {
    if (value === null) return null;
    const whole = lines.reduce((sum, line) => sum + Math.abs(line.values[i] ?? 0), 0);
    return whole === 0 ? 0 : Math.abs(value) / whole;
  });

const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

/** What a chart shows, in a sentence. */
function sentenceOf(data: UsageSeries): string {
  const { total, buckets, interval, compare } = data;
  const nothing = `${MEASURE_NAMES[data.measure]}: none.`;
  const peak = total.values.reduce<number>(
    (best, value, i) => ((value ?? 0) > (total.values[best] ?? 0) ? i : best),
    0,
  );
  const [at, most] = [buckets[peak], total.values[peak]];
  if (total.value === null || at === undefined || most == null) return nothing;
  const parts = [
    `${MEASURE_NAMES[data.measure]}: ${number(total.value)}`,
    `most in ${bucketName(interval, at.start, at.end)} (${shortNumber(most)})`,
  ];
  const changed = compare?.total.change;
  if (changed != null)
    parts.push(`${change(1 + changed, 1) ?? ""} from ${span(compare?.from ?? "", compare?.to ?? "")}`);
  return `${parts.join("; ")}.`;
}

interface PictureProps {
  frame: SeriesFrame;
  of: Explored;
  kind: ChartKind;
  colours: readonly number[];
  /** Above a list that matters more. */
  is_low: boolean;
  onZoom: (from: string, to: string) => void;
  /** Where the events of a bucket are. */
  eventsUrl: (from: string, to: string) => string;
}

/** A series as a chart, or as a table of its buckets. */
export function Picture({ frame, of, kind, colours, is_low, onZoom, eventsUrl }: PictureProps) {
  const { data, is_last, read_from } = frame;
  const { buckets, interval } = data;
  const starts = useMemo(() => buckets.map(({ start }) => instantMs(start)), [data]);
  const series = useMemo(() => seriesOf(data, of, kind, colours), [data, kind]);
  const nameOf = (i: number) => {
    const bucket = buckets[i];
    return bucket === undefined ? "" : bucketName(interval, bucket.start, bucket.end);
  };
  const actsOf = (i: number) => {
    const bucket = buckets[i];
    if (bucket === undefined) return null;
    const { start, end } = bucket;
    return (
      <>
        {buckets.length > 1 && (
          <Button kind="quiet" onClick={() => onZoom(start, end)}>
            Only this time
          </Button>
        )}
        <LinkButton kind="quiet" href={eventsUrl(start, end)}>
          Its events
        </LinkButton>
      </>
    );
  };
  if (kind === "table")
    return (
      <Table
        label={`${MEASURE_NAMES[data.measure]} over time`}
        rows={buckets.map((_, i) => i)}
        keyOf={(i) => i}
        columns={[
          {
            title: "When",
            cell: (i) => (
              <>
                {nameOf(i)}
                {buckets[i]?.partial && <span class="soft"> so far</span>}
              </>
            ),
          },
          ...series.map(({ name, values }) => ({
            title: name,
            is_figure: true,
            cell: (i: number) => (values[i] == null ? "–" : number(values[i])),
          })),
        ]}
      />
    );
  // From the first one that is not over; or the last one, where the range cuts it.
  const last = buckets.length - 1;
  const running = buckets.findIndex(
    ({ end, partial }, i) => partial && (i === last || end > frame.meta.as_of),
  );
  const unread = is_last ? undefined : starts.findIndex((start) => start >= instantMs(read_from));
  return (
    <Chart
      kind={kind === "share" ? "stacked" : kind}
      starts={starts}
      series={series}
      sentence={sentenceOf(data)}
      nameBucket={nameOf}
      nameTick={(ms) => tickName(interval, ms)}
      partial_from={running === -1 ? undefined : running}
      partial_before={buckets[0]?.partial ? 1 : 0}
      unread_before={unread === -1 ? starts.length : unread}
      has_table
      {...(is_low && { height: 150 })}
      acts={actsOf}
      {...(kind === "share" && { is_share: true, nameValue: (value: number) => percent.format(value) })}
      onZoom={(from, to) => {
        const [first, final] = [buckets[from], buckets[to]];
        if (first && final) onZoom(first.start, final.end);
      }}
    />
  );
}

/** The measure over the whole range, and how much that is beside what it is compared with. */
export function Total({ frame }: { frame: SeriesFrame }) {
  const { data, is_last } = frame;
  const { total, measure, compare } = data;
  const changed = compare?.total.change;
  return (
    <div class="explore-total">
      <span class="label">
        {MEASURE_NAMES[measure]}
        {!is_last && <> · read so far</>}
      </span>
      <strong class="value">{total.value === null ? "–" : number(total.value)}</strong>
      {compare !== null && (
        <span class="soft">
          {changed != null && <b>{change(1 + changed, 1)}</b>}{" "}
          {compare.total.value === null ? "–" : number(compare.total.value)} in{" "}
          {span(compare.from, compare.to)}
        </span>
      )}
      {total.value !== null && !addsUp(measure) && <span class="soft">over the whole range</span>}
    </div>
  );
}

/** What was counted, how long that took, and as of when. */
export function footOf(
  { data, meta }: SeriesFrame,
  by: readonly string[],
  clockOf: (at: string) => string,
): string {
  const groups = by.length === 0 ? "" : `${count(data.group_count, "group")} of `;
  return `${groups}${shortNumber(meta.matched)} ${meta.matched === 1 ? "event" : "events"} in ${number(Math.round(meta.took_ms))} ms, as of ${clockOf(meta.as_of)}`;
}
