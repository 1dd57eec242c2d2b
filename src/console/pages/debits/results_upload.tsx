import { useState } from "preact/hooks";
import type { CollectionResults } from "../../../emandate/results/model.ts";
import { refresh } from "../../api/cache.ts";
import { fetchRaw } from "../../api/call.ts";
import { number } from "../../text/number.ts";
import { Button } from "../../ui/button.tsx";
import { useSubmit } from "../../ui/dialog.tsx";
import { Facts, Section } from "../../ui/page.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";

/** A bank's file of results, and what became of its lines. */
export function ResultsUpload() {
  const [file, setFile] = useState<File>();
  const [results, setResults] = useState<CollectionResults>();
  const { submit, is_busy, failure } = useSubmit(async (key) => {
    const response = await fetchRaw("/api/v1/emandate/collections/results", {
      method: "POST",
      headers: { "content-type": "text/csv", "idempotency-key": key },
      body: file ?? "",
    });
    const answer: { data: CollectionResults } = await response.json();
    setResults(answer.data);
    refresh();
  });
  return (
    <Section
      title="The bank's results"
      intro="The file that a bank sent back. Lines that were applied before change nothing."
    >
      <div class="actions">
        <label>
          File{" "}
          <input
            type="file"
            accept=".csv,text/csv"
            onChange={(event) => setFile(event.currentTarget.files?.[0])}
          />
        </label>
        <Button is_busy={is_busy} disabled={file === undefined} onClick={() => void submit()}>
          Apply results
        </Button>
      </div>
      {failure && <FailureNotice failure={failure} />}
      {results && (
        <div role="status">
          <Facts
            of={[
              ["Applied", number(results.applied)],
              ["Without news", number(results.unchanged)],
              ["Need a decision", number(results.flagged)],
              ["Rejected", number(results.rejected)],
            ]}
          />
          {results.rejections.length > 0 && (
            <Table
              label="Rejected lines"
              rows={results.rejections}
              keyOf={({ line }) => line}
              columns={[
                { title: "Line", is_figure: true, cell: ({ line }) => number(line) },
                { title: "Why", cell: ({ reason }) => reason },
              ]}
            />
          )}
        </div>
      )}
    </Section>
  );
}
