import { useState } from "preact/hooks";
import type { Event } from "../../../webhooks/events/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { Button } from "../../ui/button.tsx";
import { Sheet } from "../../ui/dialog.tsx";
import { DateFilter, FilterChip, SearchFilter } from "../../ui/filters.tsx";
import { List } from "../../ui/list.tsx";
import { words } from "../../ui/names.ts";
import { Facts, Json, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { listEvents } from "./calls.ts";

/** What happened, as webhooks tell it. */
export function EventsPage() {
  const query = useQuery();
  const [open, setOpen] = useState<Event>();
  const events = useAnswer(listEvents, query.input(["type", "subject", "from", "to"]));
  const { subject } = query.values;
  const columns: Column<Event>[] = [
    {
      title: "Event",
      cell: (event) => (
        <Button kind="link" onClick={() => setOpen(event)}>
          {event.type}
        </Button>
      ),
    },
    { title: "Number", is_figure: true, is_minor: true, cell: ({ id }) => `#${id}` },
    { title: "When", cell: ({ created_at }) => <Time at={created_at} /> },
  ];
  return (
    <Page title="Events" intro="What happened to the company's records, as webhooks tell it.">
      <AreaTabs at="/developers/events" />
      <List
        title="All events"
        label="Events"
        loaded={events}
        columns={columns}
        query={query}
        filters={
          <>
            <SearchFilter query={query} name="type" label="Type, such as billing_record.*" />
            <DateFilter query={query} name="from" label="From" />
            <DateFilter query={query} name="to" label="Before" />
            {subject !== undefined && (
              <FilterChip query={query} names={["subject"]} text={`Of ${words(subject.replace(":", " "))}`} />
            )}
          </>
        }
        empty={<Empty title="Nothing yet" />}
      />
      {open && (
        <Sheet title={open.type} onClose={() => setOpen(undefined)}>
          <Facts
            of={[
              ["When", <Time at={open.created_at} />],
              ["Message", <code>{open.message_id}</code>],
            ]}
          />
          <Json of={open.data} />
        </Sheet>
      )}
    </Page>
  );
}
