import { useEffect, useState } from "preact/hooks";
import type { Static } from "@sinclair/typebox";
import type { UsageEvent } from "../../../usage/search/model.ts";
import type { UsageSeries } from "../../../usage/series/model.ts";
import { type Failure, failureFrom, send } from "../../api/call.ts";
import { may } from "../../app/session.ts";
import { count, number } from "../../text/number.ts";
import { preciseTime } from "../../text/time.ts";
import { Button } from "../button.tsx";
import { Sheet } from "../dialog.tsx";
import { Facts, Json } from "../page.tsx";
import { FailureNotice, Skeleton } from "../states.tsx";
import { Table } from "../table.tsx";
import { Time } from "../timeline.tsx";
import type { ExplorerCalls } from "./calls.ts";
import { EventBills } from "./event_bills.tsx";
import { type Explored, withFilter } from "./question.ts";
import { eventSearchOf } from "./share.tsx";

type Event = Static<typeof UsageEvent>;

const ROWS = 50;
/** Metadata of an event that its row shows; all of it is in the sheet. */
const SHOWN_KEYS = 4;

interface Found {
  rows: readonly Event[];
  total: number;
  next_cursor: string | null;
}

/** The events of a question, page after page, each after the one before. */
function useEvents(of: Explored, data: UsageSeries, calls: ExplorerCalls) {
  const search = eventSearchOf(of, data);
  const key = JSON.stringify(search);
  const [found, setFound] = useState<Found>();
  const [failure, setFailure] = useState<Failure>();
  const [is_loading, setLoading] = useState(true);
  const ask = async (after: Found | undefined, signal?: AbortSignal) => {
    setLoading(true);
    try {
      const cursor = after?.next_cursor ?? undefined;
      const { data: rows, meta } = await send(
        calls.events,
        { ...search, limit: ROWS, ...(cursor !== undefined && { cursor }) },
        { ...(signal && { signal }) },
      );
      setFound({
        rows: [...(after?.rows ?? []), ...rows],
        total: meta?.total ?? rows.length,
        next_cursor: meta?.next_cursor ?? null,
      });
      setFailure(undefined);
    } catch (error) {
      if (signal?.aborted) return;
      setFailure(failureFrom(error));
    }
    setLoading(false);
  };
  useEffect(() => {
    const asking = new AbortController();
    void ask(undefined, asking.signal);
    return () => asking.abort();
  }, [key]);
  return { found, failure, is_loading, more: () => void ask(found), retry: () => void ask(undefined) };
}

/** The events that a question counts, the newest first. */
export function EventList(props: {
  of: Explored;
  data: UsageSeries;
  calls: ExplorerCalls;
  set: (changes: Partial<Explored>) => void;
}) {
  const { of, data, calls, set } = props;
  const { found, failure, is_loading, more, retry } = useEvents(of, data, calls);
  const [open, setOpen] = useState<Event>();
  return (
    <section class="card" aria-label="Events">
      {failure && <FailureNotice failure={failure} onRetry={retry} />}
      {found === undefined && failure === undefined && <Skeleton rows={6} />}
      {found && (
        <div aria-busy={is_loading}>
          <Table
            label="Events"
            rows={found.rows}
            keyOf={({ id }) => id}
            columns={[
              {
                title: "When",
                cell: (event) => (
                  <button type="button" class="link-button" onClick={() => setOpen(event)}>
                    {preciseTime(event.timestamp)}
                  </button>
                ),
              },
              { title: "Subscription", cell: ({ subscription_id }) => externalId(subscription_id) },
              { title: "Usage", is_figure: true, cell: ({ usage }) => number(usage) },
              {
                title: "Metadata",
                cell: ({ metadata }) => <Metadata of={metadata} explored={of} set={set} />,
              },
            ]}
          />
          <div class="table-foot">
            <span class="soft">
              {number(found.rows.length)} of {count(found.total, "event")}
            </span>
            {found.next_cursor !== null && (
              <Button kind="quiet" icon="down" disabled={is_loading} onClick={more}>
                Older events
              </Button>
            )}
          </div>
        </div>
      )}
      {open && <EventSheet event={open} onClose={() => setOpen(undefined)} />}
    </section>
  );
}

/** The id by which its sender knows a subscription. */
const externalId = (key: string) => key.slice(key.indexOf(":") + 1);

const isText = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

/** What an event says of itself; a value narrows to those that say the same. */
function Metadata(props: {
  of: Record<string, unknown>;
  explored: Explored;
  set: (changes: Partial<Explored>) => void;
}) {
  const { of, explored, set } = props;
  const entries = Object.entries(of);
  return (
    <span class="chips">
      {entries.slice(0, SHOWN_KEYS).map(([key, value]) => {
        const text = isText(value) ? String(value) : JSON.stringify(value);
        const only = { field: `metadata:${key}` as const, op: "is" as const, values: [text] };
        return isText(value) ? (
          <button
            key={key}
            type="button"
            class="chip"
            title={`Only events whose ${key} is ${text}`}
            onClick={() => set({ filters: withFilter(explored, only).filters })}
          >
            {key}: {text}
          </button>
        ) : (
          <span key={key} class="chip">
            {key}: {text.length > 40 ? `${text.slice(0, 40)}…` : text}
          </span>
        );
      })}
      {entries.length > SHOWN_KEYS && <span class="soft">and {entries.length - SHOWN_KEYS} more</span>}
    </span>
  );
}

function EventSheet({ event, onClose }: { event: Event; onClose: () => void }) {
  return (
    <Sheet title="Usage event" onClose={onClose}>
      <Facts
        of={[
          ["When", <Time at={event.timestamp} show={preciseTime} />],
          ["Usage", number(event.usage)],
          ["Subscription", externalId(event.subscription_id)],
          ["Stored", <Time at={event.created_at} show={preciseTime} />],
        ]}
      />
      {may("billing:read") && (
        <>
          <h3>On bills</h3>
          <EventBills
            id={event.id}
            external_subscription_id={externalId(event.subscription_id)}
            timestamp={event.timestamp}
          />
        </>
      )}
      <h3>As JSON</h3>
      <Json of={event} />
    </Sheet>
  );
}
