import type { ComponentChildren } from "preact";
import { dateTime, isoTime, utc } from "../text/time.ts";

export interface Happening {
  key: string | number;
  at: string;
  title: ComponentChildren;
  note?: ComponentChildren;
  tone?: "good" | "bad" | "plain";
}

/** What happened, newest first. */
export function Timeline({ of, label }: { of: readonly Happening[]; label: string }) {
  return (
    <ol class="timeline" aria-label={label}>
      {of.map(({ key, at, title, note, tone = "plain" }) => (
        <li key={key} class={tone}>
          <div>{title}</div>
          <div class="soft">
            <time dateTime={at} title={utc(at)}>
              {dateTime(at)}
            </time>
            {note && <> · {note}</>}
          </div>
        </li>
      ))}
    </ol>
  );
}

/** A time, with UTC on hover. */
export function Time({
  at,
  show = dateTime,
}: {
  at: string | number | null | undefined;
  show?: (at: string | number) => string;
}) {
  if (at === null || at === undefined) return <span class="soft">–</span>;
  return (
    <time dateTime={typeof at === "string" ? at : isoTime(at)} title={utc(at)}>
      {show(at)}
    </time>
  );
}
