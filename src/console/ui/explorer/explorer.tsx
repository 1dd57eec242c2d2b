import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { SeriesFrame } from "../../../usage/series/model.ts";
import { BASE } from "../../app/find_page.ts";
import { clock } from "../../text/time.ts";
import { IconButton } from "../button.tsx";
import { Badge, Page } from "../page.tsx";
import { Empty, FailureNotice, Skeleton } from "../states.tsx";
import { callsOf, type ExplorerCalls, type Whose } from "./calls.ts";
import { Choose, choicesOf } from "./choose.tsx";
import { EventList } from "./events.tsx";
import { GroupTable } from "./group_table.tsx";
import { QuestionPanel, useFields } from "./panel.tsx";
import { footOf, Picture, Total, useColours } from "./picture.tsx";
import { type ChartKind, chartOf, chartsFor, type Explored, exploreUrl, questionOf } from "./question.ts";
import { RangePicker } from "./range_picker.tsx";
import { ShareMenu } from "./share.tsx";
import { type ExploredAddress, useAddress } from "./use_address.ts";
import { type AskedSeries, useSeries } from "./use_series.ts";
import { learnGroups } from "./value_names.ts";
import { SaveButton, useOpenView, ViewsMenu } from "./views.tsx";
import { CHART_NAMES, COMPARE_NAMES, INTERVAL_NAMES } from "./words.ts";

interface ExplorerProps {
  title: string;
  /** Whose usage: all of the company's, or that of the client whose user is signed in. */
  whose: Whose;
  /** Where it is, below /console; its events are at `events` below that, saved views at `views`. */
  path: string;
  /** What is below the chart: groups, or the events themselves. */
  shows?: "groups" | "events";
  /** Above the question: tabs to what belongs beside it. */
  tabs?: ComponentChildren;
}

/**
 * Usage over time, as one asks for it: range, measure, groups and filters are the address's, so that a link shows the
 * same and Back undoes a step. It asks while one edits.
 */
export function Explorer(props: ExplorerProps) {
  const { title, whose, tabs } = props;
  const address = useAddress(callsOf(whose));
  if (address.pending === undefined) return <Exploring {...props} address={address} />;
  const { failure } = address.pending;
  return (
    <Page title={title}>
      {tabs}
      {failure ? <FailureNotice failure={failure} /> : <Skeleton rows={8} />}
    </Page>
  );
}

function Exploring(props: ExplorerProps & { address: ExploredAddress }) {
  const { title, whose, shows = "groups", tabs, address } = props;
  const { query, of, set } = address;
  const calls = callsOf(whose);
  const path = `${BASE}${props.path}`;
  const here = shows === "events" ? `${path}/events` : path;
  const asked = useSeries(calls.series, questionOf(of));
  const fields = useFields(calls, whose === "company");
  const open = useOpenView(query, of, calls);
  const { frame } = asked;
  useEffect(() => {
    if (frame !== undefined) learnGroups(frame.data, of.by);
  }, [frame]);
  const eventsUrl = (narrowed: Explored) => exploreUrl(`${path}/events`, narrowed);
  return (
    <Page
      title={open.view?.name ?? title}
      {...(open.is_changed && { beside: <Badge>changed</Badge> })}
      actions={
        <>
          <ViewsMenu calls={calls} path={path} all={`${path}/views`} />
          <SaveButton {...{ of, open, calls, query }} />
          <ShareMenu {...{ of, calls }} data={asked.is_old ? undefined : frame?.data} path={here} />
        </>
      }
    >
      {tabs}
      <div class="explorer">
        <TopBar {...{ of, asked, calls, set }} />
        <QuestionPanel {...{ of, fields, calls, set }} />
        <div class="explore-answer">
          <Answer {...{ asked, of, set, eventsUrl, whose }} is_low={shows === "events"}>
            {({ data }, colours) =>
              shows === "events" ? (
                <EventList {...{ of, data, calls, set }} />
              ) : (
                of.by.length > 0 && <GroupTable {...{ data, of, colours, fields, set, eventsUrl }} />
              )
            }
          </Answer>
        </div>
      </div>
    </Page>
  );
}

type Below = (frame: SeriesFrame, colours: readonly number[]) => ComponentChildren;

interface BarProps {
  of: Explored;
  asked: AskedSeries;
  calls: ExplorerCalls;
  set: (changes: Partial<Explored>) => void;
}

/** What is above all: range, interval, and what it is compared with. */
function TopBar({ of, asked, calls, set }: BarProps) {
  const { frame, is_old, is_loading, reload } = asked;
  const shown = is_old ? undefined : frame?.data;
  return (
    <div class="explore-bar">
      <RangePicker
        range={of.range}
        shown={shown}
        as_of={frame?.meta.as_of}
        calls={calls}
        onPick={(range) => set({ range })}
      />
      <IconButton icon="runs" label="Ask again" disabled={is_loading} onClick={reload} />
      <Choose
        label="Interval"
        value={of.interval}
        choices={choicesOf({
          ...INTERVAL_NAMES,
          auto:
            shown === undefined ? "Automatic" : `Automatic (${INTERVAL_NAMES[shown.interval].toLowerCase()})`,
        })}
        onChoose={(interval) => set({ interval })}
      />
      <Choose
        label="Compare with"
        value={of.compare}
        choices={choicesOf(COMPARE_NAMES)}
        onChoose={(compare) => set({ compare })}
      />
      {of.compare !== "" && (
        <label class="check-line">
          <input
            type="checkbox"
            checked={of.align_weekdays}
            onChange={(event) => set({ align_weekdays: event.currentTarget.checked })}
          />
          Same weekdays
        </label>
      )}
    </div>
  );
}

function Answer(props: {
  asked: AskedSeries;
  of: Explored;
  set: (changes: Partial<Explored>) => void;
  eventsUrl: (of: Explored) => string;
  whose: Whose;
  is_low: boolean;
  children: Below;
}) {
  const { asked, of, set, eventsUrl, whose, is_low, children } = props;
  const { frame, failure, is_old, is_loading, reload } = asked;
  const shows_failure = failure !== undefined && !is_loading && failure.status !== 401;
  if (frame === undefined) {
    if (shows_failure) return <FailureNotice failure={failure} onRetry={reload} />;
    return <Skeleton rows={8} />;
  }
  return (
    <>
      {shows_failure && <FailureNotice failure={failure} onRetry={reload} />}
      <div class={is_old ? "dimmed" : undefined} aria-busy={is_loading}>
        <Shown {...{ frame, of, set, eventsUrl, whose, is_low, children }} />
      </div>
    </>
  );
}

function Shown(props: {
  frame: NonNullable<AskedSeries["frame"]>;
  of: Explored;
  set: (changes: Partial<Explored>) => void;
  eventsUrl: (of: Explored) => string;
  whose: Whose;
  is_low: boolean;
  children: Below;
}) {
  const { frame, of, set, eventsUrl, whose, is_low, children } = props;
  const colours = useColours(frame.data, of.by);
  const kind = chartOf(of);
  if (frame.meta.matched === 0 && frame.is_last) return <NoEvents {...{ of, set, whose }} />;
  return (
    <>
      <section class="card" aria-label="Chart">
        <div class="section-head">
          <Total frame={frame} />
          <ChartKinds of={of} kind={kind} set={set} />
        </div>
        <Picture
          {...{ frame, of, kind, colours, is_low }}
          onZoom={(from, to) => set({ range: `${from}..${to}` })}
          eventsUrl={(from, to) => eventsUrl({ ...of, range: `${from}..${to}` })}
        />
        <p class="soft explore-foot">{footOf(frame, of.by, clock)}</p>
      </section>
      {children(frame, colours)}
    </>
  );
}

function ChartKinds({ of, kind, set }: { of: Explored; kind: ChartKind; set: BarProps["set"] }) {
  return (
    <div class="segments" role="group" aria-label="Picture">
      {chartsFor(of).map((value) => (
        <button key={value} type="button" aria-pressed={value === kind} onClick={() => set({ chart: value })}>
          {CHART_NAMES[value]}
        </button>
      ))}
    </div>
  );
}

function NoEvents({ of, set, whose }: { of: Explored; set: BarProps["set"]; whose: Whose }) {
  const is_filtered = of.filters.length > 0 || of.min !== "" || of.max !== "";
  return (
    <Empty
      title={is_filtered ? "No events match" : "No events in this range"}
      action={
        <>
          {is_filtered && (
            <button type="button" class="button" onClick={() => set({ filters: [], min: "", max: "" })}>
              Clear filters
            </button>
          )}
          {of.range !== "all" && (
            <button type="button" class="button" onClick={() => set({ range: "all" })}>
              Look at all time
            </button>
          )}
        </>
      }
      {...(whose === "company" && { curl: SEND })}
    >
      {whose === "company"
        ? "Usage events are amounts that subscriptions used, each at an instant: send them as they happen, or import a file."
        : "Usage events are amounts that your subscriptions used, each at an instant."}
    </Empty>
  );
}

const SEND = `curl ${location.origin}/api/v1/usage/events -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"external_subscription_id": "…", "usage": 1250, "metadata": {"model": "large"}}'`;
