import { useState } from "preact/hooks";
import type { LoanApplication } from "../../../loans/applications/model.ts";
import { useAsked } from "../../api/asked.ts";
import { useAnswer, write } from "../../api/cache.ts";
import type { Input } from "../../api/call.ts";
import type { PageProps } from "../../app/pages.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { count, number, percent } from "../../text/number.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import {
  DecimalField,
  NumberField,
  SelectField,
  TextAreaField,
  TextField,
  TimeField,
} from "../../ui/fields.tsx";
import { Form, Rows, FormDialog } from "../../ui/form.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Time, Timeline } from "../../ui/timeline.tsx";
import { TONES } from "./applications.tsx";
import {
  approveApplication,
  disburseApplication,
  getApplication,
  previewOffer,
  rejectApplication,
  requestAction,
  reviewApplication,
} from "./calls.ts";
import { Consents } from "./consents.tsx";
import { Documents } from "./documents.tsx";
import { Environment, titleIn } from "./environment.tsx";

/** One application: borrower, documents, consents and offer on one screen. */
export function ApplicationPage({ params }: PageProps) {
  const environment = params.environment ?? "production";
  const application = useAnswer(getApplication, { environment, id: params.id });
  const record = application.answer?.data;
  return (
    <Page
      title={titleIn(environment, record?.borrower.name ?? `Application #${params.id ?? ""}`)}
      above={<a href={`${BASE}/loans/${environment}/applications`}>Applications</a>}
      beside={record && <Badge tone={TONES[record.status]}>{words(record.status)}</Badge>}
      actions={record && may("lending:write") && <ApplicationActs of={record} />}
    >
      <Environment of={environment} at="applications">
        <Await of={application} rows={8}>
          {(of) => <Parts of={of} />}
        </Await>
      </Environment>
    </Page>
  );
}

function Parts({ of }: { of: LoanApplication }) {
  const { borrower, program_snapshot: program, missing, offer, decision } = of;
  return (
    <>
      <div class="columns">
        <Section title="Asked for">
          <Facts
            of={[
              ["Reference", <code>{of.reference}</code>],
              ["Amount", money(of.amount, program.currency)],
              ["Over", count(of.tenor_months, "month")],
              ["For", of.purpose],
              ["Program", program.name],
              ["Expires", <Time at={of.expires_at} />],
            ]}
          />
        </Section>
        <Section title="Borrower">
          <Facts
            of={[
              ["Name", borrower.name],
              borrower.type === "business"
                ? ["Registration", borrower.registration_number]
                : ["IC number", borrower.ic_number],
              ["Email", borrower.email],
              ["Phone", borrower.phone],
              [
                "Income a month",
                borrower.monthly_income === null ? null : money(borrower.monthly_income, program.currency),
              ],
              ["Employment", borrower.employment_type === null ? null : words(borrower.employment_type)],
            ]}
          />
        </Section>
      </div>
      {missing.length > 0 && (
        <div class="notice warn">
          <p>It lacks:</p>
          <ul>
            {missing.map(({ kind, code, note }) => (
              <li key={`${kind} ${code}`}>
                {kind}: {words(code)} {note !== null && <span class="soft">({note})</span>}
              </li>
            ))}
          </ul>
        </div>
      )}
      {(offer !== null || decision !== null) && (
        <Section title="Decision">
          <Facts
            of={[
              decision === null
                ? undefined
                : [
                    "Outcome",
                    `${decision.outcome}${decision.reason_code === null ? "" : `: ${words(decision.reason_code)}`}`,
                  ],
              decision?.note ? ["Note", decision.note] : undefined,
              offer === null
                ? undefined
                : [
                    "Offered",
                    `${money(offer.amount, program.currency)} over ${count(offer.tenor_months, "month")} at ${percent(offer.annual_rate)}`,
                  ],
              offer === null
                ? undefined
                : ["Instalment", `${money(offer.monthly_instalment, program.currency)} a month`],
              offer === null ? undefined : ["Offer until", <Time at={offer.expires_at} />],
              of.disbursement_reference === null ? undefined : ["Disbursed by", of.disbursement_reference],
            ]}
          />
        </Section>
      )}
      <Documents of={of} />
      <Consents of={of} />
      <History of={of} />
    </>
  );
}

const STEPS = [
  "created_at",
  "submitted_at",
  "under_review_at",
  "action_required_at",
  "approved_at",
  "rejected_at",
  "accepted_at",
  "declined_at",
  "withdrawn_at",
  "expired_at",
  "disbursed_at",
] as const;

function History({ of }: { of: LoanApplication }) {
  const steps = STEPS.flatMap((step) => {
    const at = of[step];
    return at === null ? [] : [{ key: step, at, title: words(step.replace(/_at$/, "")) }];
  });
  return (
    <Section title="History">
      <Timeline label="History of the application" of={steps.toSorted((a, b) => (a.at < b.at ? 1 : -1))} />
    </Section>
  );
}

type Open = "review" | "request" | "approve" | "reject" | "disburse";

/** What the lender may do in each state. */
const ACTS: readonly { open: Open; title: string; states: readonly LoanApplication["status"][] }[] = [
  { open: "review", title: "Begin review", states: ["submitted"] },
  { open: "request", title: "Ask for more", states: ["under_review"] },
  { open: "approve", title: "Approve", states: ["under_review"] },
  { open: "reject", title: "Reject", states: ["under_review", "action_required"] },
  { open: "disburse", title: "Disburse", states: ["accepted"] },
];

function ApplicationActs({ of }: { of: LoanApplication }) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const at = { environment: of.environment, id: of.id };
  return (
    <>
      {ACTS.filter(({ states }) => states.includes(of.status)).map((act) => (
        <Button
          key={act.open}
          kind={
            act.open === "reject"
              ? "danger"
              : act.open === "approve" || act.open === "disburse"
                ? "primary"
                : "plain"
          }
          onClick={() => setOpen(act.open)}
        >
          {act.title}
        </Button>
      ))}
      {open === "review" && (
        <Confirm
          title="Begin the review?"
          act="Begin review"
          kind="primary"
          onClose={close}
          run={(key) => write(reviewApplication, at, { key })}
        >
          <p>The loan agent is told.</p>
        </Confirm>
      )}
      {open === "request" && <RequestDialog of={of} onClose={close} />}
      {open === "approve" && <ApproveDialog of={of} onClose={close} />}
      {open === "reject" && <RejectDialog of={of} onClose={close} />}
      {open === "disburse" && <DisburseDialog of={of} onClose={close} />}
    </>
  );
}

interface DialogProps {
  of: LoanApplication;
  onClose: () => void;
}

const KINDS = ["document", "consent", "field"].map((value) => ({ value, label: value }));

function RequestDialog({ of, onClose }: DialogProps) {
  const { environment, id } = of;
  return (
    <FormDialog
      title="Ask for more"
      onClose={onClose}
      schema="RequestLoanAction"
      act="Ask"
      initial={{ items: [{ kind: "document", code: "" }] }}
      submit={(values, key) => write(requestAction, { ...values, environment, id }, { key })}
    >
      {(form) => (
        <Rows
          form={form}
          name="items"
          label="What is asked for"
          add="Add"
          at_least={1}
          blank={{ kind: "document" }}
        >
          {(row) => (
            <>
              <SelectField form={row} name="kind" label="Kind" choices={KINDS} help={null} />
              <TextField
                form={row}
                name="code"
                label="Which"
                help="A document's type, such as payslip; a consent's code; a field's name"
              />
              <TextField form={row} name="note" label="Note" help={null} />
            </>
          )}
        </Rows>
      )}
    </FormDialog>
  );
}

function ApproveDialog({ of, onClose }: DialogProps) {
  const { environment, id, program_snapshot: program } = of;
  return (
    <FormDialog
      title={`Approve ${of.borrower.name}`}
      onClose={onClose}
      schema="LoanApproval"
      act="Approve"
      initial={{ amount: of.amount, tenor_months: of.tenor_months, annual_rate: program.annual_rate_min }}
      submit={(values, key) => write(approveApplication, { ...values, environment, id }, { key })}
      effects={(values) => (
        <OfferPreview input={{ ...values, environment, id }} currency={program.currency} />
      )}
    >
      {(form) => (
        <>
          <p class="soft">
            Asked for: {money(of.amount, program.currency)} over {count(of.tenor_months, "month")}. The
            program offers {number(program.annual_rate_min)} to {percent(program.annual_rate_max)} a year.
          </p>
          <DecimalField form={form} name="amount" label="Amount" unit={program.currency} help={null} />
          <div class="field-row">
            <NumberField form={form} name="tenor_months" label="Months" help={null} />
            <DecimalField form={form} name="annual_rate" label="Rate a year, %" help={null} />
          </div>
          <TimeField
            form={form}
            name="expires_at"
            label="Offer until"
            help="Left empty: as the service sets it."
          />
        </>
      )}
    </FormDialog>
  );
}

/** The instalment of what is typed, as the service has it. */
function OfferPreview({ input, currency }: { input: Input; currency: string }) {
  const { data, failure } = useAsked(previewOffer, input);
  return (
    <p role="status">
      {failure ? failure.message : data && `Instalment: ${money(data.monthly_instalment, currency)} a month.`}
    </p>
  );
}

const REASONS = ["income", "credit", "documents", "eligibility", "fraud", "policy", "other"].map((value) => ({
  value,
  label: value,
}));

function RejectDialog({ of, onClose }: DialogProps) {
  const { environment, id } = of;
  return (
    <FormDialog
      title={`Reject ${of.borrower.name}`}
      onClose={onClose}
      schema="LoanRejection"
      act="Reject"
      kind="danger"
      initial={{ reason_code: "income" }}
      submit={(values, key) => write(rejectApplication, { ...values, environment, id }, { key })}
    >
      {(form) => (
        <>
          <SelectField form={form} name="reason_code" label="Why" choices={REASONS} help={null} />
          <TextAreaField form={form} name="note" label="Note" rows={2} help={null} />
        </>
      )}
    </FormDialog>
  );
}

function DisburseDialog({ of, onClose }: DialogProps) {
  const { environment, id, offer, program_snapshot: program } = of;
  return (
    <Dialog title={`Disburse to ${of.borrower.name}`} onClose={onClose}>
      <div class="notice warn">
        <p>
          {offer === null ? "" : `${money(offer.amount, program.currency)} `}
          {environment === "staging"
            ? "in staging: nothing is real."
            : "for real. This records that the money was paid out; it cannot be taken back."}
        </p>
      </div>
      <Form
        schema="LoanDisbursement"
        act={`Disburse${offer === null ? "" : ` ${money(offer.amount, program.currency)}`}`}
        kind="danger"
        onCancel={onClose}
        onDone={onClose}
        submit={(values, key) => write(disburseApplication, { ...values, environment, id }, { key })}
      >
        {(form) => (
          <>
            <TextField form={form} name="reference" label="Reference of the transfer" help={null} />
            <TimeField form={form} name="disbursed_at" label="When" help="Left empty: now." />
          </>
        )}
      </Form>
    </Dialog>
  );
}
