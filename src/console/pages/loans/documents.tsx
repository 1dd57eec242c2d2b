import { useState } from "preact/hooks";
import type { LoanApplication } from "../../../loans/applications/model.ts";
import type { LoanDocument } from "../../../loans/documents/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may } from "../../app/session.ts";
import { isolated } from "../../text/isolated.ts";
import { shortNumber } from "../../text/number.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Sheet } from "../../ui/dialog.tsx";
import { SelectField, TextAreaField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { listDocuments, rejectDocument, verifyDocument } from "./calls.ts";
import { attempt } from "../../ui/toast.tsx";

const TONES = { pending_review: "busy", verified: "good", rejected: "bad", superseded: "plain" } as const;
const REASONS = ["blurry", "expired", "wrong_type", "incomplete", "name_mismatch", "other"].map((value) => ({
  value,
  label: words(value),
}));

/** The address of a document's file. */
const contentOf = ({ environment, id }: LoanDocument) =>
  `/api/v1/lending/${environment}/documents/${id}/content`;

/** The documents of an application, and their review. */
export function Documents({ of }: { of: LoanApplication }) {
  const { environment } = of;
  const documents = useAnswer(listDocuments, { environment, id: of.id, page: 1, limit: 50 });
  const [rejecting, setRejecting] = useState<LoanDocument>();
  const [looking, setLooking] = useState<LoanDocument>();
  const close = () => setRejecting(undefined);
  const acts = (document: LoanDocument) => (
    <>
      {document.content_type !== "application/pdf" && (
        <Button kind="quiet" onClick={() => setLooking(document)}>
          Look
        </Button>
      )}
      <LinkButton kind="quiet" icon="download" href={contentOf(document)} download>
        File
      </LinkButton>
      {may("lending:write") && document.status === "pending_review" && (
        <>
          <Button onClick={() => attempt(write(verifyDocument, { environment, id: document.id }))}>
            Verify
          </Button>
          <Button kind="danger" onClick={() => setRejecting(document)}>
            Reject
          </Button>
        </>
      )}
    </>
  );
  return (
    <Section title="Documents">
      <Await of={documents}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">None yet.</p>
          ) : (
            <Table
              label="Documents"
              rows={rows}
              keyOf={({ id }) => id}
              acts={acts}
              columns={[
                {
                  title: "Document",
                  cell: ({ type, file_name, size }) => (
                    <>
                      {words(type)}
                      <div class="soft">
                        {isolated(file_name)}, {shortNumber(size)} bytes
                      </div>
                    </>
                  ),
                },
                {
                  title: "State",
                  cell: ({ status, reason_code, note }) => (
                    <>
                      <Badge tone={TONES[status]}>{words(status)}</Badge>
                      {reason_code !== null && <div class="soft">{words(reason_code)}</div>}
                      {note !== null && <div class="soft">{note}</div>}
                    </>
                  ),
                },
                { title: "Sent", is_minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
              ]}
            />
          )
        }
      </Await>
      {looking && (
        <Sheet title={`${words(looking.type)}: ${looking.file_name}`} onClose={() => setLooking(undefined)}>
          <img class="preview" src={contentOf(looking)} alt={`${words(looking.type)} as it was sent`} />
        </Sheet>
      )}
      {rejecting && (
        <FormDialog
          title={`Reject ${words(rejecting.type)}`}
          onClose={close}
          schema="RejectDocument"
          act="Reject"
          kind="danger"
          initial={{ reason_code: "blurry" }}
          submit={(values, key) =>
            write(rejectDocument, { ...values, environment, id: rejecting.id }, { key })
          }
        >
          {(form) => (
            <>
              <SelectField form={form} name="reason_code" label="Why" choices={REASONS} help={null} />
              <TextAreaField form={form} name="note" label="Note for the borrower" rows={2} help={null} />
            </>
          )}
        </FormDialog>
      )}
    </Section>
  );
}
