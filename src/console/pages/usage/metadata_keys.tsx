import type { Static } from "@sinclair/typebox";
import type { MetadataKey } from "../../../usage/search/model.ts";
import { useAnswer } from "../../api/cache.ts";
import type { Received } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import { count, number } from "../../text/number.ts";
import { COMPANY_CALLS } from "../../ui/explorer/calls.ts";
import { exploreUrl } from "../../ui/explorer/question.ts";
import { Page, Section } from "../../ui/page.tsx";
import { Await, Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { UsageTabs } from "./tabs.tsx";

type Key = Received<Static<typeof MetadataKey>>;

const EXPLORER = `${BASE}/usage`;
const fieldOf = (key: string) => `metadata:${key}` as const;

/** What events say of themselves: which keys, how often, and which values. */
export function MetadataKeysPage() {
  const keys = useAnswer(COMPANY_CALLS.keys);
  return (
    <Page
      title="Metadata"
      intro="What events say of themselves, by the newest of them: to group, filter and meter by."
    >
      <UsageTabs at="/usage/metadata" />
      <Section title="Keys">
        <Await of={keys}>
          {(rows, meta) =>
            rows.length === 0 ? (
              <Empty title="No metadata yet">
                Events may carry an object of their own, such as a model, a region or a user.
              </Empty>
            ) : (
              <>
                <Table label="Metadata keys" rows={rows} keyOf={({ key }) => key} columns={columnsOf(meta)} />
                {meta?.all_keys === false && <p class="soft">There are more keys.</p>}
              </>
            )
          }
        </Await>
      </Section>
    </Page>
  );
}

const columnsOf = (meta: { events?: number; all_events?: boolean } | undefined) => [
  {
    title: "Key",
    cell: ({ key }: Key) => <a href={exploreUrl(EXPLORER, { by: [fieldOf(key)], range: "all" })}>{key}</a>,
  },
  {
    title: `Of ${meta?.all_events === false ? "the newest " : ""}${count(meta?.events ?? 0, "event")}`,
    is_figure: true,
    cell: ({ count: events }: Key) => number(events),
  },
  {
    title: "Most frequent values",
    cell: ({ key, samples }: Key) => (
      <span class="chips">
        {samples.map((value) =>
          // What was cut names no events.
          value.endsWith("…") ? (
            <span key={value} class="chip">
              {value}
            </span>
          ) : (
            <a key={value} class="chip" href={eventsUrl(key, value)}>
              {value}
            </a>
          ),
        )}
      </span>
    ),
  },
];

const eventsUrl = (key: string, value: string): string =>
  exploreUrl(`${EXPLORER}/events`, {
    range: "all",
    filters: [{ field: fieldOf(key), op: "is", values: [value] }],
  });
