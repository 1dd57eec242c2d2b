import { useState } from "preact/hooks";
import type { UsageSeries } from "../../../usage/series/model.ts";
import { fieldTime, span } from "../../text/time.ts";
import { Button, IconButton } from "../button.tsx";
import { Pick } from "../picker.tsx";
import { Popover } from "../popover.tsx";
import type { ExplorerCalls } from "./calls.ts";
import { RANGE_WORDS } from "./question.ts";
import { RANGE_NAMES, rangeName } from "./words.ts";

/** Words side by side: spans up to now, what is running, what is over. */
const COLUMNS = [
  ["last_1h", "last_24h", "last_7d", "last_30d", "last_90d", "last_12_months"],
  ["today", "this_week", "this_month", "this_quarter", "this_year", "all"],
  ["yesterday", "last_week", "last_month", "last_quarter", "last_year"],
] as const;

interface RangeProps {
  range: string;
  /** What is shown for it. */
  shown: UsageSeries | undefined;
  as_of: string | undefined;
  calls: ExplorerCalls;
  onPick: (range: string) => void;
}

const between = ({ from, to }: { from: string; to: string }) => `${from}..${to}`;

/** The range of what is explored: by word, typed, from field to field, or a subscription's period; arrows move it. */
export function RangePicker(props: RangeProps) {
  const { range, shown, as_of = "", onPick } = props;
  const is_word = RANGE_WORDS.some((word) => word === range) || range.startsWith("subscription:");
  return (
    <div class="range-picker" role="group" aria-label="Range">
      <IconButton
        icon="left"
        label="Range before"
        disabled={shown === undefined}
        onClick={() => shown && onPick(between(shown.before))}
      />
      <Popover label="Range" text={rangeName(range, shown)}>
        {(close) => (
          <RangeChoices
            {...props}
            onPick={(picked) => {
              onPick(picked);
              close();
            }}
          />
        )}
      </Popover>
      <IconButton
        icon="right"
        label="Range after"
        disabled={shown === undefined || shown.to > as_of}
        onClick={() => shown && onPick(between(shown.after))}
      />
      {is_word && shown && <span class="soft">{span(shown.from, shown.to)}</span>}
    </div>
  );
}

function RangeChoices({ range, shown, calls, onPick }: RangeProps) {
  return (
    <>
      <div class="range-words">
        {COLUMNS.map((words) => (
          <div key={words[0]}>
            {words.map((word) => (
              <button
                key={word}
                type="button"
                class="choice"
                aria-pressed={word === range}
                onClick={() => onPick(word)}
              >
                {RANGE_NAMES[word]}
              </button>
            ))}
          </div>
        ))}
      </div>
      <TypedRange onPick={onPick} />
      <SpanFields shown={shown} onPick={onPick} />
      <PeriodFields calls={calls} onPick={onPick} />
    </>
  );
}

function TypedRange({ onPick }: Pick<RangeProps, "onPick">) {
  const [typed, setTyped] = useState("");
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim() !== "") onPick(typed.trim());
      }}
    >
      <label class="filter">
        <span class="soft">Typed</span>
        <input
          value={typed}
          autocomplete="off"
          placeholder="2026-03, 2026-03-05, 2026-03-05..2026-03-12"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <Button type="submit">Show</Button>
    </form>
  );
}

/** From one time to before another: the same as a drag over the chart. */
function SpanFields({ shown, onPick }: Pick<RangeProps, "shown" | "onPick">) {
  const [from, setFrom] = useState(shown ? fieldTime(shown.from) : "");
  const [to, setTo] = useState(shown ? fieldTime(shown.to) : "");
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (from !== "") onPick(`${from}..${to}`);
      }}
    >
      <label class="filter">
        <span class="soft">From</span>
        <input type="datetime-local" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
      </label>
      <label class="filter">
        <span class="soft">Before</span>
        <input type="datetime-local" value={to} onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      <Button type="submit">Show</Button>
    </form>
  );
}

/** A billing period of a subscription. */
function PeriodFields({ calls, onPick }: Pick<RangeProps, "calls" | "onPick">) {
  const [id, setId] = useState<number>();
  const [on, setOn] = useState("");
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (id !== undefined) onPick(`subscription:${id}${on === "" ? "" : `@${on}`}`);
      }}
    >
      <Pick
        label="Billing period of subscription"
        source={{ from: calls.subscriptions, one: calls.subscription, nameOf: ({ name }) => name }}
        value={id}
        onPick={setId}
      />
      <label class="filter">
        <span class="soft">With the day (default today)</span>
        <input type="date" value={on} onInput={(event) => setOn(event.currentTarget.value)} />
      </label>
      <Button type="submit" disabled={id === undefined}>
        Show
      </Button>
    </form>
  );
}
