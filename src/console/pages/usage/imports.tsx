import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { UsageUpload, UsageUploadDetail } from "../../../usage/uploads/model.ts";
import { refresh, useAnswer, write } from "../../api/cache.ts";
import { fetchRaw } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import { isolated } from "../../text/isolated.ts";
import { count, number } from "../../text/number.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm, useSubmit } from "../../ui/dialog.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Badge, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty, FailureNotice } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { deleteUpload, listUploads } from "./calls.ts";
import { UsageTabs } from "./tabs.tsx";

export const TONES = {
  uploaded: "plain",
  running: "busy",
  stopped: "warn",
  finished: "good",
  failed: "bad",
} as const;

/** What became of a file, in a word or two. */
export const stateOf = ({ status, dry_run }: UsageUpload): string =>
  dry_run && status !== "uploaded" ? `dry run ${status}` : status;

const columns: Column<UsageUpload>[] = [
  {
    title: "File",
    cell: ({ id, file_name, lines }) => (
      <>
        <a href={`${BASE}/usage/imports/${id}`}>{file_name}</a>
        <div class="soft">{count(lines, "line")}</div>
      </>
    ),
  },
  { title: "State", cell: (of) => <Badge tone={TONES[of.status]}>{stateOf(of)}</Badge> },
  { title: "Rows", is_figure: true, cell: ({ rows }) => number(rows) },
  { title: "Accepted", is_figure: true, cell: ({ accepted }) => number(accepted), is_minor: true },
  { title: "Rejected", is_figure: true, cell: ({ rejected }) => number(rejected), is_minor: true },
  { title: "Sent", is_minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** Files of usage that were sent to be imported. */
export function ImportsPage() {
  const query = useQuery();
  const uploads = useAnswer(listUploads, query.input([]));
  const [deleting, setDeleting] = useState<UsageUpload>();
  return (
    <Page
      title="Import"
      intro="Usage from a CSV or NDJSON file: send it, match its columns, try it, import it. Nothing is stored twice."
    >
      <UsageTabs at="/usage/imports" />
      <SendFile />
      <List
        title="Files"
        label="Files"
        loaded={uploads}
        columns={columns}
        query={query}
        acts={(upload) => (
          <Menu label={`Acts for ${upload.file_name}`}>
            <MenuItem onSelect={() => setDeleting(upload)}>Delete</MenuItem>
          </Menu>
        )}
        empty={
          <Empty title="No files yet">
            Programs send events as they happen. A file is for what happened before, or elsewhere.
          </Empty>
        }
      />
      {deleting && (
        <Confirm
          title={`Delete ${isolated(deleting.file_name)}?`}
          act="Delete file"
          onClose={() => setDeleting(undefined)}
          run={(key) => write(deleteUpload, { id: deleting.id }, { key })}
        >
          <p>Its list of rejected rows goes with it. Usage that was stored from it stays.</p>
        </Confirm>
      )}
    </Page>
  );
}

const isNdjson = (name: string) => /\.(ndjson|jsonl|json)$/i.test(name);

function SendFile() {
  const { route } = useLocation();
  const [file, setFile] = useState<File>();
  const { submit, is_busy, failure } = useSubmit(async () => {
    if (file === undefined) return;
    const query = new URLSearchParams({ file_name: file.name });
    const response = await fetchRaw(`/api/v1/usage/imports/files?${query.toString()}`, {
      method: "POST",
      headers: { "content-type": isNdjson(file.name) ? "application/x-ndjson" : "text/csv" },
      body: file,
    });
    const answer: { data: UsageUploadDetail } = await response.json();
    refresh();
    route(`${BASE}/usage/imports/${answer.data.id}`);
  });
  return (
    <Section
      title="Send a file"
      intro="Up to 256 MB, in UTF-8. It is deleted once it was imported, else after 7 days. Larger files: the command import."
    >
      <div class="actions">
        <label>
          File{" "}
          <input
            type="file"
            accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv,application/x-ndjson"
            onChange={(event) => setFile(event.currentTarget.files?.[0])}
          />
        </label>
        <Button kind="primary" is_busy={is_busy} disabled={file === undefined} onClick={() => void submit()}>
          {is_busy ? "Sending" : "Send file"}
        </Button>
      </div>
      {failure && <FailureNotice failure={failure} />}
      {failure?.status === 0 && (
        <p>Of a file that was cut off nothing is kept. If it is not in the list below, send it again.</p>
      )}
    </Section>
  );
}
