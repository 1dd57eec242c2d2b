import { useState } from "preact/hooks";
import type { CollectionRun } from "../../../emandate/collections/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may } from "../../app/session.ts";
import { number } from "../../text/number.ts";
import { calendarDay } from "../../text/time.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { List } from "../../ui/list.tsx";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { getConfig, listCollections, runCollection } from "./calls.ts";
import { ResultsUpload } from "./results_upload.tsx";

const TONES = { running: "busy", finished: "good", interrupted: "warn" } as const;

const columns: Column<CollectionRun>[] = [
  { title: "Run", cell: ({ id, connector }) => `#${id}${connector === "sandbox" ? ", sandbox" : ""}` },
  { title: "State", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  { title: "Day", cell: ({ date }) => calendarDay(date) },
  { title: "Due", is_figure: true, cell: ({ counts }) => number(counts.due) },
  { title: "Sent", is_figure: true, cell: ({ counts }) => number(counts.submitted) },
  { title: "Not allowed", is_figure: true, is_minor: true, cell: ({ counts }) => number(counts.refused) },
  { title: "Begun", is_minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

const fileOf = ({ id, status }: CollectionRun) =>
  status === "finished" && (
    <LinkButton kind="quiet" icon="download" href={`/api/v1/emandate/collections/${id}/file`} download>
      File for the bank
    </LinkButton>
  );

/** Passes over the mandates that are due. */
export function CollectionsPage() {
  const query = useQuery();
  const runs = useAnswer(listCollections, query.input([]));
  const config = useAnswer(getConfig);
  const [is_open, setOpen] = useState(false);
  const can_write = may("emandate:write");
  const is_real = config.answer !== undefined && config.answer.data.connector !== "sandbox";
  return (
    <Page
      title="Collections"
      intro="What is due is collected every 15 minutes by itself. A bank that works with files takes a run's file and answers with a file."
      actions={
        can_write && (
          <Button kind="primary" icon="runs" onClick={() => setOpen(true)}>
            Collect now
          </Button>
        )
      }
    >
      <AreaTabs at="/debits/collections" />
      <List
        title="All runs"
        label="Collections"
        loaded={runs}
        columns={columns}
        query={query}
        empty={<Empty title="No runs yet" />}
        acts={fileOf}
      />
      {can_write && <ResultsUpload />}
      {is_open && (
        <Confirm
          title="Collect what is due now?"
          act={is_real ? "Collect for real" : "Collect in the sandbox"}
          kind={is_real ? "danger" : "primary"}
          {...(is_real && { name: "collect" })}
          onClose={() => setOpen(false)}
          run={(key) => write(runCollection, {}, { key })}
        >
          <p>
            {is_real
              ? "Customers' accounts are debited, each period once. Suspended and ended mandates are left out."
              : "No money moves: the sandbox answers."}
          </p>
        </Confirm>
      )}
    </Page>
  );
}
