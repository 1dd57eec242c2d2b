import { useState } from "preact/hooks";
import type { Static } from "@sinclair/typebox";
import type { MandateDetail } from "../../../emandate/mandates/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import type { Endpoint } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { isolated } from "../../text/isolated.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { calendarDay } from "../../text/time.ts";
import { Button, CopyButton } from "../../ui/button.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { DecimalField, SelectField, TextField } from "../../ui/fields.tsx";
import { Form } from "../../ui/form.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time, Timeline } from "../../ui/timeline.tsx";
import { say } from "../../ui/toast.tsx";
import {
  amendMandate,
  authorizeMandate,
  cancelMandate,
  createPayment,
  getMandate,
  previewAmendment,
  resumeMandate,
  suspendMandate,
  terminateMandate,
  withdrawRequest,
} from "./calls.ts";
import { FREQUENCIES } from "./mandates.tsx";
import { Scenarios } from "./scenarios.tsx";
import { MANDATE_TONES, PAYMENT_TONES } from "./tones.ts";

type Detail = Static<typeof MandateDetail>;

/** One mandate: its terms, debits and history. */
export function MandatePage({ params }: PageProps) {
  const mandate = useAnswer(getMandate, { id: params.id });
  const record = mandate.answer?.data;
  return (
    <Page
      title={record === undefined ? `Mandate #${params.id ?? ""}` : `Mandate of ${record.customer.name}`}
      above={<a href={`${BASE}/debits/mandates`}>Mandates</a>}
      beside={record && <Badge tone={MANDATE_TONES[record.status]}>{words(record.status)}</Badge>}
      actions={record && may("emandate:write") && <MandateActs of={record} />}
    >
      <Await of={mandate} rows={8}>
        {(of) => (
          <>
            <Terms of={of} />
            <Payments of={of} />
            <Section title="History">
              <Timeline
                label="History of the mandate"
                of={of.events.map(({ type, status, reason, created_at }, i) => ({
                  key: `${created_at} ${i}`,
                  at: created_at,
                  title: (
                    <>
                      {words(type.split(".").at(-1) ?? type)}{" "}
                      <Badge tone={MANDATE_TONES[status]}>{words(status)}</Badge>
                    </>
                  ),
                  note: reason,
                }))}
              />
            </Section>
            {of.connector === "sandbox" && may("emandate:write") && <Scenarios mandate_id={of.id} />}
          </>
        )}
      </Await>
    </Page>
  );
}

function Terms({ of }: { of: Detail }) {
  const { authorization_url, bankscheme_txn_amount, currency } = of;
  return (
    <Section title="Terms">
      {of.connector === "sandbox" && (
        <div class="notice warn">
          <p>Sandbox: no money moves.</p>
        </div>
      )}
      <Facts
        of={[
          ["Reference", <code>{of.reference}</code>],
          ["Email", of.customer.email],
          ["Phone", of.customer.phone],
          ["IC number", of.customer.ic_number],
          ["Amount", bankscheme_txn_amount === null ? "by hand" : money(bankscheme_txn_amount, currency)],
          ["At most", `${money(of.max_amount, currency)}, ${number(of.max_no_debit)} a period`],
          ["How often", of.frequency],
          ["Product", of.product?.product_name],
          [
            "Bank",
            of.bank_account_last4 === null ? of.bank_code : `${of.bank_code} …${of.bank_account_last4}`,
          ],
          [
            "Valid",
            `${of.effective_date === null ? "–" : calendarDay(of.effective_date)} to ${of.expiry_date === null ? "no end" : calendarDay(of.expiry_date)}`,
          ],
          ["Next debit", <Time at={of.next_collection_at} />],
          of.status_reason === null ? undefined : ["Why", of.status_reason],
        ]}
      />
      {authorization_url !== null && of.status === "pending_authorization" && (
        <div class="notice">
          <p>
            The customer authorises it at <a href={authorization_url}>the bank's page</a>.
          </p>
          <CopyButton text={authorization_url} label="Copy the link" />
        </div>
      )}
    </Section>
  );
}

function Payments({ of }: { of: Detail }) {
  const [is_open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <Section
      title="Debits"
      actions={
        of.status === "active" &&
        may("emandate:write") && <Button onClick={() => setOpen(true)}>Debit by hand</Button>
      }
    >
      {of.payments.length === 0 ? (
        <p class="soft">None yet.</p>
      ) : (
        <Table
          label="Debits"
          rows={of.payments}
          keyOf={({ id }) => id}
          columns={[
            { title: "Debit", cell: ({ id }) => <a href={`${BASE}/debits/payments/${id}`}>#{id}</a> },
            { title: "Due", cell: ({ due_date }) => calendarDay(due_date) },
            {
              title: "State",
              cell: ({ status }) => <Badge tone={PAYMENT_TONES[status]}>{words(status)}</Badge>,
            },
            {
              title: "The bank says",
              is_minor: true,
              cell: ({ response_message }) => response_message ?? "–",
            },
            { title: "Amount", is_figure: true, cell: ({ amount, currency }) => money(amount, currency) },
          ]}
        />
      )}
      {is_open && (
        <Dialog title={`Debit ${of.customer.name}`} onClose={close}>
          <Form
            schema="CreateMandatePayment"
            act="Debit"
            kind="danger"
            onCancel={close}
            onDone={() => {
              say("The debit is scheduled");
              close();
            }}
            submit={(values, key) => write(createPayment, { ...values, id: of.id }, { key })}
            effects={({ amount }) =>
              typeof amount === "string" &&
              /^\d+(\.\d{1,2})?$/.test(amount) && (
                <div class="notice warn" role="status">
                  <p>
                    {of.connector === "sandbox" ? "In the sandbox" : "For real"}: {money(amount, "MYR")} from{" "}
                    {isolated(of.customer.name)}, at most {money(of.max_amount, "MYR")}.
                  </p>
                </div>
              )
            }
          >
            {(form) => (
              <>
                <DecimalField form={form} name="amount" label="Amount" unit="MYR" />
                <TextField
                  form={form}
                  name="due_date"
                  label="Day"
                  type="date"
                  help="Left empty: the next possible."
                />
                <TextField form={form} name="description" label="For" help={null} />
              </>
            )}
          </Form>
        </Dialog>
      )}
    </Section>
  );
}

/** What may be asked of a mandate in each state, as a button and in words. */
const ACTS: readonly {
  title: string;
  run: Endpoint<unknown>;
  states: readonly Detail["status"][];
  text: string;
  is_final?: boolean;
}[] = [
  {
    title: "Authorise",
    run: authorizeMandate,
    states: ["pending", "failed"],
    text: "The customer is sent to the bank's page. The link is shown here.",
  },
  {
    title: "Suspend",
    run: suspendMandate,
    states: ["active"],
    text: "Nothing is debited until it is resumed.",
  },
  {
    title: "Resume",
    run: resumeMandate,
    states: ["suspended"],
    text: "What is due from now on is debited again.",
  },
  {
    title: "Withdraw the request",
    run: withdrawRequest,
    states: ["pending_termination"],
    text: "The bank is told nothing more; the mandate goes on.",
  },
  {
    title: "Cancel",
    run: cancelMandate,
    states: ["pending", "pending_authorization", "failed"],
    text: "It is never used.",
    is_final: true,
  },
  {
    title: "Terminate",
    run: terminateMandate,
    states: ["active", "suspended"],
    text: "The bank ends it. It cannot be taken back.",
    is_final: true,
  },
];

function MandateActs({ of }: { of: Detail }) {
  const [open, setOpen] = useState<(typeof ACTS)[number] | "amend">();
  const close = () => setOpen(undefined);
  return (
    <>
      {of.status === "active" && <Button onClick={() => setOpen("amend")}>Amend</Button>}
      {ACTS.filter(({ states }) => states.includes(of.status)).map((act) => (
        <Button
          key={act.title}
          {...(act.is_final === true && { kind: "danger" as const })}
          onClick={() => setOpen(act)}
        >
          {act.title}
        </Button>
      ))}
      {open === "amend" && <Amendment of={of} onClose={close} />}
      {open !== undefined && open !== "amend" && (
        <Confirm
          title={`${open.title} the mandate of ${isolated(of.customer.name)}?`}
          act={open.title}
          kind={open.is_final === true ? "danger" : "primary"}
          {...(open.is_final === true && { name: of.reference })}
          onClose={close}
          run={(key) => write(open.run, { id: of.id }, { key })}
        >
          <p>{open.text}</p>
        </Confirm>
      )}
    </>
  );
}

function Amendment({ of, onClose }: { of: Detail; onClose: () => void }) {
  const [asked, setAsked] = useState<Record<string, unknown>>();
  const preview = useAnswer(previewAmendment, asked === undefined ? null : { id: of.id, ...asked });
  return (
    <Dialog title={`Amend the mandate of ${of.customer.name}`} onClose={onClose}>
      <Form
        schema="AmendMandate"
        act={asked === undefined ? "Show what would change" : "Amend"}
        initial={{
          amount: of.bankscheme_txn_amount ?? "",
          frequency: of.frequency,
          expiry_date: of.expiry_date ?? "",
        }}
        onCancel={onClose}
        submit={async (values, key) => {
          if (asked === undefined || JSON.stringify(asked) !== JSON.stringify(values)) {
            setAsked(values);
            return;
          }
          await write(amendMandate, { ...values, id: of.id }, { key });
          onClose();
        }}
        effects={() =>
          asked !== undefined && (
            <Await of={preview} rows={2}>
              {({ before, after, due, waiting_payments }) => (
                <Facts
                  of={[
                    [
                      "Amount",
                      `${before.bankscheme_txn_amount ?? "by hand"} → ${after.bankscheme_txn_amount ?? "by hand"}`,
                    ],
                    ["How often", `${before.frequency} → ${after.frequency}`],
                    ["Last day", `${before.expiry_date ?? "no end"} → ${after.expiry_date ?? "no end"}`],
                    ["Next debits", after.next_collections.join(", ") || "none"],
                    due.length === 0 ? undefined : ["Still due by the present terms", due.join(", ")],
                    waiting_payments === 0
                      ? undefined
                      : ["Take the new amount", count(waiting_payments, "open debit")],
                  ]}
                />
              )}
            </Await>
          )
        }
      >
        {(form) => (
          <>
            <DecimalField form={form} name="amount" label="Amount" unit="MYR" />
            <SelectField form={form} name="frequency" label="How often" choices={FREQUENCIES} help={null} />
            <TextField form={form} name="expiry_date" label="Last day" type="date" help={null} />
          </>
        )}
      </Form>
    </Dialog>
  );
}
