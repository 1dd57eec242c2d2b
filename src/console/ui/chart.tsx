import type { ComponentChildren, TargetedMouseEvent, TargetedPointerEvent } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { isolated } from "../text/isolated.ts";
import { number } from "../text/number.ts";
import { type Charted, colourClass, Dragged, Pointed, type Series, useDrawn } from "./chart_picture.tsx";
import { useWidth } from "./plot.tsx";
import { Table } from "./table.tsx";

interface ChartProps extends Charted {
  /** What it shows in a sentence: total, peak, change. */
  sentence: string;
  nameBucket: (index: number) => string;
  /** A drag was made over these buckets, both inclusive. Fields for the same belong beside the chart. */
  onZoom?: (from: number, to: number) => void;
  /** What can be done with a bucket that was clicked, or reached by keys. */
  acts?: (bucket: number) => ComponentChildren;
  height?: number;
  /** Whether the page shows the same numbers in a table of its own. */
  has_table?: boolean;
}

/** A drag over fewer pixels is a click. */
const DRAG_PX = 6;

/**
 * A chart over buckets of time. It is a figure that takes the focus: arrow keys go from bucket to bucket and say what
 * is there; a drag zooms. The same numbers are in a table below it. `starts` and `series` should stay the same objects
 * while their content does.
 */
export function Chart(props: ChartProps) {
  const { starts, sentence, acts, onZoom, height = 260, has_table = false } = props;
  const [place, width] = useWidth();
  const [at, setAt] = useState<number>();
  // A bucket that was clicked or reached by keys stays, wherever the pointer goes, until a click or Escape.
  const [is_held, setHeld] = useState(false);
  const id = useId();
  const drawn = useDrawn(props, width, height);
  useEffect(() => {
    setAt(undefined);
    setHeld(false);
  }, [starts]);
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") setHeld(false);
    const last = starts.length - 1;
    const to = { ArrowRight: (at ?? -1) + 1, ArrowLeft: (at ?? last + 1) - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(last, to)));
    setHeld(true);
  };
  const { dragged, pointer } = useDrag({
    onPoint: (x) => {
      if (!is_held) setAt(x === undefined ? undefined : drawn.bucketAt(x));
    },
    onClick: (x) => {
      if (acts === undefined) return;
      setAt(drawn.bucketAt(x));
      setHeld(!is_held);
    },
    onDrag: onZoom && ((from, to) => onZoom(drawn.bucketAt(from), drawn.bucketAt(to))),
  });
  return (
    <figure class="chart" aria-labelledby={id}>
      <div
        class="plot-frame"
        role="application"
        aria-roledescription="chart"
        aria-labelledby={id}
        tabIndex={0}
        onKeyDown={press}
      >
        <div ref={place} class={onZoom ? "plot zooms" : "plot"} aria-hidden="true" {...pointer}>
          {drawn.picture}
          {at !== undefined && at < starts.length && <Pointed at={at} drawn={drawn} {...props} />}
          {dragged && <Dragged from={dragged[0]} to={dragged[1]} area={drawn.area} />}
        </div>
      </div>
      <Readout {...props} at={at} is_held={is_held} />
      <figcaption id={id}>{sentence}</figcaption>
      {!has_table && <ChartTable {...props} />}
    </figure>
  );
}

const xOf = ({ clientX, currentTarget }: TargetedMouseEvent<HTMLElement>): number =>
  clientX - currentTarget.getBoundingClientRect().left;

/** A pointer over an element, in pixels from its left: where it is, a click, and a drag from one place to another. */
function useDrag(on: {
  onPoint: (x: number | undefined) => void;
  onClick: (x: number) => void;
  onDrag: ((from: number, to: number) => void) | undefined;
}) {
  const [dragged, setDragged] = useState<readonly [from: number, to: number]>();
  const was_drag = useRef(false);
  type Event = TargetedPointerEvent<HTMLElement>;
  const pointer = {
    onPointerDown: (event: Event) => {
      was_drag.current = false;
      if (on.onDrag === undefined || event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      setDragged([xOf(event), xOf(event)]);
    },
    onPointerMove: (event: Event) => {
      on.onPoint(xOf(event));
      if (dragged) setDragged([dragged[0], xOf(event)]);
    },
    onPointerUp: () => {
      setDragged(undefined);
      if (dragged === undefined || Math.abs(dragged[1] - dragged[0]) < DRAG_PX) return;
      was_drag.current = true;
      on.onDrag?.(Math.min(...dragged), Math.max(...dragged));
    },
    onPointerCancel: () => setDragged(undefined),
    onPointerLeave: ({ pointerType }: Event) => {
      // A finger that was lifted leaves what it pointed at.
      if (pointerType === "mouse") on.onPoint(undefined);
    },
    onClick: (event: TargetedMouseEvent<HTMLElement>) => {
      if (!was_drag.current) on.onClick(xOf(event));
    },
  };
  return { dragged, pointer };
}

function valueText({ series, nameValue }: ChartProps, index: number, bucket: number): string {
  const value = series[index]?.values[bucket];
  if (value === null || value === undefined) return "–";
  return nameValue ? nameValue(value, index, bucket) : number(value);
}

/** More would be a list, which belongs below the chart. */
const LEGEND = 12;

/** The legend, with the values of the bucket that is pointed at. */
function Readout(props: ChartProps & { at: number | undefined; is_held: boolean }) {
  const { series, starts, nameBucket, partial_from, partial_before = 0, acts, at, is_held } = props;
  const is_there = at !== undefined && starts[at] !== undefined;
  const is_partial = is_there && ((partial_from !== undefined && at >= partial_from) || at < partial_before);
  const lines = series.map((line, i) => ({ ...line, i }));
  const sizeOf = ({ values }: Series) => Math.abs((is_there ? values[at] : undefined) ?? 0);
  const shown =
    series.length > LEGEND ? lines.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(0, LEGEND) : lines;
  return (
    <div class="readout" role="status">
      <div class={acts ? "bucket with-acts" : "bucket"}>
        {is_there && (
          <>
            <strong>{nameBucket(at)}</strong>
            {is_partial && <span class="soft"> (not whole)</span>}
            {is_held && acts && <> {acts(at)}</>}
          </>
        )}
      </div>
      {(series.length > 1 || is_there) &&
        shown.map(({ i, ...line }) => (
          <span key={`${i} ${line.name}`} class={`key ${colourClass(line, i)}`}>
            {isolated(line.name)}
            {is_there && `: ${valueText(props, i, at)}`}
          </span>
        ))}
    </div>
  );
}

/** The numbers of a chart, for those who want to read them. */
function ChartTable(props: ChartProps) {
  const { starts, series, nameBucket } = props;
  const [is_open, setOpen] = useState(false);
  return (
    <details class="chart-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {is_open && (
        <Table
          label="The numbers of this chart"
          rows={starts.map((_, bucket) => bucket)}
          keyOf={(bucket) => bucket}
          columns={[
            { title: "When", cell: nameBucket },
            ...series.map(({ name }, i) => ({
              title: name,
              is_figure: true,
              cell: (bucket: number) => valueText(props, i, bucket),
            })),
          ]}
        />
      )}
    </details>
  );
}
