import { useEffect, useState } from "preact/hooks";
import type { UsageUploadDetail } from "../../../usage/uploads/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { type Received, send, urlOf } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import { follow } from "../../app/long_work.tsx";
import type { PageProps } from "../../app/pages.ts";
import { count, number } from "../../text/number.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { useSubmit } from "../../ui/dialog.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await, FailureNotice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { getUpload, runUpload, stopUpload } from "./calls.ts";
import { stateOf, TONES } from "./imports.tsx";
import { draftOf, type Draft, MatchColumns, matchingOf } from "./match_columns.tsx";

type Upload = Received<UsageUploadDetail>;

/** A file that was sent: its first rows, how its columns are matched, and what became of its rows. */
export function ImportPage({ params }: PageProps) {
  const [is_running, setRunning] = useState(false);
  const upload = useAnswer(getUpload, { id: params.id }, is_running ? { every_ms: 1_000 } : {});
  const status = upload.answer?.data.status;
  useEffect(() => setRunning(status === "running"), [status]);
  const found = upload.answer?.data;
  return (
    <Page
      title={found?.file_name ?? "Import"}
      above={<a href={`${BASE}/usage/imports`}>Import</a>}
      {...(found && { beside: <Badge tone={TONES[found.status]}>{stateOf(found)}</Badge> })}
    >
      <Await of={upload}>
        {(of) => (
          <>
            {of.status !== "uploaded" && <Outcome of={of} />}
            {of.has_file && <Matching key={of.id} of={of} />}
            {of.sample.length > 0 && <Sample of={of} />}
          </>
        )}
      </Await>
    </Page>
  );
}

function Outcome({ of }: { of: Upload }) {
  const { id, dry_run, status, rows, lines, rejected } = of;
  const stop = useSubmit((key) => write(stopUpload, { id }, { key }));
  return (
    <Section
      title={dry_run ? "Dry run" : "Import"}
      actions={
        status === "running" && (
          <Button is_busy={stop.is_busy} onClick={() => void stop.submit()}>
            Stop
          </Button>
        )
      }
    >
      <div role="status">
        {status === "running" && (
          <p>
            <progress aria-label="Rows looked at" value={rows} max={Math.max(lines, rows, 1)} />{" "}
            {number(rows)} of about {count(lines, "row")}. It goes on when you leave this page.
          </p>
        )}
        {of.error !== null && <p>{of.error}</p>}
        {status === "stopped" && (
          <p>Stopped. What was stored stays; run in the same way it goes on where it was.</p>
        )}
        {status === "finished" && dry_run && <p>Nothing was stored.</p>}
      </div>
      <Facts
        of={[
          ["Rows", number(rows)],
          [dry_run ? "Would be accepted" : "Accepted", number(of.accepted)],
          dry_run ? undefined : ["Stored before", number(of.duplicates)],
          ["Rejected", number(rejected)],
          ["Ended", <Time at={of.finished_at} />],
        ]}
      />
      {stop.failure && <FailureNotice failure={stop.failure} />}
      {rejected > 0 && status !== "running" && (
        <LinkButton icon="download" download href={urlOf(REJECTED, { id })}>
          Rejected rows
        </LinkButton>
      )}
    </Section>
  );
}

const REJECTED = { method: "GET", path: "/usage/imports/:id/rejected" } as const;

function Matching({ of }: { of: Upload }) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(of));
  const { id, file_name, status } = of;
  const begin = (dry_run: boolean) => async (key: string) => {
    await write(runUpload, { id, matching: matchingOf(draft), dry_run }, { key });
    void follow({ id: `import ${id}`, title: file_name, href: `${BASE}/usage/imports/${id}` }, async () => {
      const { data } = await send(getUpload, { id });
      return { progress: count(data.rows, "row"), is_over: data.status !== "running" };
    });
  };
  const dry_run = useSubmit(begin(true));
  const real = useSubmit(begin(false));
  const is_busy = dry_run.is_busy || real.is_busy || status === "running";
  const failure = real.failure ?? dry_run.failure;
  return (
    <Section
      title="Match columns"
      intro="Each row is one event. A dry run judges every row and stores nothing."
    >
      <MatchColumns columns={of.columns} draft={draft} set={setDraft} />
      {failure && <FailureNotice failure={failure} />}
      <div class="actions">
        <Button is_busy={is_busy} onClick={() => void dry_run.submit()}>
          Dry run
        </Button>
        <Button kind="primary" is_busy={is_busy} onClick={() => void real.submit()}>
          Import
        </Button>
      </div>
    </Section>
  );
}

function Sample({ of: { columns, sample } }: { of: Upload }) {
  const rows = sample.map((texts, i) => ({ texts, i }));
  return (
    <Section title="First rows" intro={`The first ${count(sample.length, "row")} of the file.`}>
      <Table
        label="First rows"
        rows={rows}
        keyOf={({ i }) => i}
        columns={columns.map((title, at) => ({
          title,
          cell: ({ texts }: (typeof rows)[number]) => texts[at] ?? <span class="soft">–</span>,
        }))}
      />
    </Section>
  );
}
