import { useState } from "preact/hooks";
import type { MandatePaymentDetail } from "../../../emandate/payments/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { calendarDay } from "../../text/time.ts";
import { MandateLink } from "../../ui/named_link.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { cancelPayment, getPayment, retryPayment } from "./calls.ts";
import { Scenarios } from "./scenarios.tsx";
import { PAYMENT_TONES } from "./tones.ts";

/** One debit with its attempts. */
export function PaymentPage({ params }: PageProps) {
  const payment = useAnswer(getPayment, { id: params.id });
  const record = payment.answer?.data;
  return (
    <Page
      title={`Debit #${params.id ?? ""}`}
      above={<a href={`${BASE}/debits/payments`}>Debits</a>}
      beside={record && <Badge tone={PAYMENT_TONES[record.status]}>{words(record.status)}</Badge>}
      actions={record && may("emandate:write") && <PaymentActs of={record} />}
    >
      <Await of={payment}>
        {(of) => (
          <>
            <Section title={money(of.amount, of.currency)}>
              <Facts
                of={[
                  ["Mandate", <MandateLink id={of.mandate_id} />],
                  ["Period", of.period_key ?? "by hand"],
                  ["Due", calendarDay(of.due_date)],
                  ["Paid", <Time at={of.paid_at} />],
                  ["Next attempt", <Time at={of.next_attempt_at} />],
                  ["The bank says", of.response_message],
                  ["Code", of.response_code],
                  ["For", of.description],
                ]}
              />
            </Section>
            <Section title="Attempts">
              {of.attempts.length === 0 ? (
                <p class="soft">None yet.</p>
              ) : (
                <Table
                  label="Attempts"
                  rows={of.attempts}
                  keyOf={({ attempt_no }) => attempt_no}
                  columns={[
                    { title: "Order", cell: ({ order_no }) => <code>{order_no}</code> },
                    { title: "Sent", cell: ({ submitted_at }) => <Time at={submitted_at} /> },
                    { title: "Answered", cell: ({ completed_at }) => <Time at={completed_at} /> },
                    {
                      title: "The bank says",
                      cell: ({ response_code, response_message }) =>
                        `${response_code ?? ""} ${response_message ?? "–"}`.trim(),
                    },
                  ]}
                />
              )}
            </Section>
            {may("emandate:write") && <Scenarios payment_id={of.id} />}
          </>
        )}
      </Await>
    </Page>
  );
}

function PaymentActs({ of }: { of: MandatePaymentDetail }) {
  const [open, setOpen] = useState<"retry" | "cancel">();
  const close = () => setOpen(undefined);
  const can_retry = of.status === "failed" || of.status === "retry_scheduled";
  const can_cancel = of.status === "scheduled" || of.status === "retry_scheduled";
  return (
    <>
      {can_retry && <Button onClick={() => setOpen("retry")}>Debit again</Button>}
      {can_cancel && (
        <Button kind="danger" onClick={() => setOpen("cancel")}>
          Do not debit
        </Button>
      )}
      {open === "retry" && (
        <Confirm
          title="Debit again?"
          act={`Debit ${money(of.amount, of.currency)} again`}
          onClose={close}
          run={(key) => write(retryPayment, { id: of.id }, { key })}
        >
          <p>Another order is sent to the bank.</p>
        </Confirm>
      )}
      {open === "cancel" && (
        <Confirm
          title="Do not debit?"
          act="Cancel this debit"
          onClose={close}
          run={(key) => write(cancelPayment, { id: of.id }, { key })}
        >
          <p>{money(of.amount, of.currency)} is not collected for this period.</p>
        </Confirm>
      )}
    </>
  );
}
