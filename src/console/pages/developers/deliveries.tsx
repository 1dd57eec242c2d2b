import { useState } from "preact/hooks";
import type { WebhookLog } from "../../../webhooks/deliveries/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may } from "../../app/session.ts";
import { count, number } from "../../text/number.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { Breakable } from "../../ui/breakable.tsx";
import { Button } from "../../ui/button.tsx";
import { Sheet, useSubmit } from "../../ui/dialog.tsx";
import { DateFilter, SearchFilter, SelectFilter } from "../../ui/filters.tsx";
import { List } from "../../ui/list.tsx";
import { Badge, Facts, Json, Page } from "../../ui/page.tsx";
import { PickFilter } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty, FailureNotice } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { say } from "../../ui/toast.tsx";
import { listDeliveries, redeliver, WEBHOOKS } from "./calls.ts";

const TONES = { pending: "busy", succeeded: "good", failed: "bad" } as const;

/** What was delivered, and what was not. */
export function DeliveriesPage() {
  const query = useQuery();
  const [open, setOpen] = useState<WebhookLog>();
  const deliveries = useAnswer(
    listDeliveries,
    query.input(["event_type", "status", "endpoint_id", "from", "to"]),
  );
  const columns: Column<WebhookLog>[] = [
    {
      title: "Event",
      cell: (log) => (
        <Button kind="link" onClick={() => setOpen(log)}>
          <Breakable of={log.event_type} />
        </Button>
      ),
    },
    { title: "State", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
    { title: "To", is_minor: true, cell: ({ url }) => <Breakable of={url} /> },
    { title: "Attempts", is_figure: true, cell: ({ attempts }) => number(attempts.length) },
    { title: "Begun", cell: ({ created_at }) => <Time at={created_at} /> },
    { title: "Next", is_minor: true, cell: ({ next_attempt_at }) => <Time at={next_attempt_at} /> },
  ];
  return (
    <Page title="Deliveries" intro="Each message to each webhook, with its attempts.">
      <AreaTabs at="/developers/deliveries" />
      <List
        title="All deliveries"
        label="Deliveries"
        loaded={deliveries}
        columns={columns}
        query={query}
        filters={
          <>
            <SearchFilter query={query} name="event_type" label="Event, such as subscription.*" />
            <SelectFilter
              query={query}
              name="status"
              label="State"
              choices={Object.keys(TONES).map((value) => ({ value, label: value }))}
            />
            <PickFilter query={query} name="endpoint_id" label="Webhook" source={WEBHOOKS} />
            <DateFilter query={query} name="from" label="From" />
            <DateFilter query={query} name="to" label="Before" />
          </>
        }
        empty={<Empty title="Nothing yet">Deliveries begin once there is a webhook.</Empty>}
      />
      {open && <DeliverySheet of={open} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

function DeliverySheet({ of, onClose }: { of: WebhookLog; onClose: () => void }) {
  const { submit, is_busy, failure } = useSubmit(async (key) => {
    await write(redeliver, { id: of.id }, { key });
    say("It is delivered again");
  }, onClose);
  return (
    <Sheet title={of.event_type} onClose={onClose}>
      <Facts
        of={[
          ["State", <Badge tone={TONES[of.status]}>{of.status}</Badge>],
          ["To", <Breakable of={of.url} />],
          ["Message", <code>{of.message_id}</code>],
          ["Begun", <Time at={of.created_at} />],
          ["Next attempt", <Time at={of.next_attempt_at} />],
        ]}
      />
      {may("webhooks:write") && of.status !== "pending" && (
        <p>
          <Button is_busy={is_busy} onClick={() => void submit()}>
            Deliver again
          </Button>
        </p>
      )}
      {failure && <FailureNotice failure={failure} />}
      <h3>{count(of.attempts.length, "attempt")}</h3>
      <Table
        label="Attempts"
        rows={of.attempts}
        keyOf={({ no }) => no}
        columns={[
          { title: "When", cell: ({ at }) => <Time at={at} /> },
          { title: "Answer", cell: ({ status_code, error }) => status_code ?? error ?? "–" },
          { title: "Took", is_figure: true, cell: ({ duration_ms }) => `${number(duration_ms)} ms` },
          { title: "It said", is_minor: true, cell: ({ response_excerpt }) => response_excerpt || "–" },
        ]}
      />
      <h3>Payload</h3>
      <Json of={of.payload} />
    </Sheet>
  );
}
