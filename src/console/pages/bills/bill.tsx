import { useState } from "preact/hooks";
import type { BillingRecordDetail, Verification } from "../../../billing/records/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { Failure, send } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { period } from "../../text/time.ts";
import { BillingModelLink, ClientLink } from "../../ui/named_link.tsx";
import { BILL_COLUMNS, bills } from "../../ui/bills.tsx";
import { BillLines } from "../../ui/bill_lines.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { RECORD_KIND_NAMES } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await, FailureNotice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { getBill, verifyBill } from "./calls.ts";

/** One bill: its lines, what adjusts it, and its proof from the events. */
export function BillPage({ params }: PageProps) {
  const bill = useAnswer(getBill, { id: params.id });
  const title = bill.answer === undefined ? `Bill #${params.id ?? ""}` : titleOf(bill.answer.data);
  return (
    <Page
      title={title}
      above={<a href={`${BASE}/bills`}>Bills</a>}
      beside={bill.answer && <Badge>{RECORD_KIND_NAMES[bill.answer.data.kind]}</Badge>}
      actions={
        <LinkButton href={`/api/v1/billing-records/${params.id ?? ""}/invoice`} icon="external">
          Page for the client
        </LinkButton>
      }
    >
      <Await of={bill} rows={8}>
        {(record) => <BillParts of={record} />}
      </Await>
    </Page>
  );
}

const titleOf = ({ id, subscription }: BillingRecordDetail) => `Bill #${id} of ${subscription.name}`;

function BillParts({ of }: { of: BillingRecordDetail }) {
  const { subscription, currency, totalCharges, lines, unmetered, adjusts_billing_record_id } = of;
  return (
    <>
      <Section title={money(totalCharges, currency)}>
        <Facts
          of={[
            ["Period", period(of.billingStartAt, of.billingEndAt)],
            ["Subscription", <a href={`${BASE}/subscriptions/${subscription.id}`}>{subscription.name}</a>],
            ["Client", <ClientLink id={subscription.client_id} />],
            ["Billing model", <BillingModelLink id={of.billing_model_id} />],
            ["Units", number(of.billedUnits)],
            ["Counts events stored before", <Time at={of.usage_until} />],
            ["Written", <Time at={of.created_at} />],
            of.billing_run_id === null
              ? undefined
              : [
                  "Billing run",
                  <a href={`${BASE}/billing-runs/${of.billing_run_id}`}>#{of.billing_run_id}</a>,
                ],
            adjusts_billing_record_id === null
              ? undefined
              : [
                  "Adjusts",
                  <a href={`${BASE}/bills/${adjusts_billing_record_id}`}>
                    bill #{adjusts_billing_record_id}
                  </a>,
                ],
          ]}
        />
        {unmetered && unmetered.event_count > 0 && (
          <div class="notice warn">
            <p>
              No charge counts {count(unmetered.event_count, "event")} ({number(unmetered.usage)} units) of
              this period.
            </p>
          </div>
        )}
      </Section>
      <Section title="Lines">
        <BillLines lines={lines} currency={currency} total={totalCharges} subscription_id={subscription.id} />
      </Section>
      <Proof id={of.id} />
      <Others of={of} />
    </>
  );
}

function Proof({ id }: { id: number }) {
  const [state, setState] = useState<{ result?: Verification; failure?: Failure; is_busy: boolean }>({
    is_busy: false,
  });
  const verify = async () => {
    setState({ is_busy: true });
    try {
      setState({ result: (await send(verifyBill, { id })).data, is_busy: false });
    } catch (error) {
      setState({ failure: error instanceof Failure ? error : new Failure(String(error)), is_busy: false });
    }
  };
  return (
    <Section
      title="Proof"
      intro="Counts the stored events of each usage line again, and prices and adds up all lines."
      actions={
        <Button icon="check" is_busy={state.is_busy} onClick={() => void verify()}>
          Verify
        </Button>
      }
    >
      {state.failure && <FailureNotice failure={state.failure} onRetry={() => void verify()} />}
      {state.result && <VerificationResult of={state.result} />}
    </Section>
  );
}

function VerificationResult({ of }: { of: Verification }) {
  return (
    <div role="status">
      <p>
        <Badge tone={of.matches ? "good" : "bad"}>{of.matches ? "Proved" : "Differs"}</Badge>{" "}
        {of.matches
          ? "The bill is what its events and prices come to."
          : `${count(of.differences.length, "field")} of the bill differ from what its events and prices come to.`}
      </p>
      {of.differences.length > 0 && (
        <Table
          label="Differences"
          rows={of.differences}
          keyOf={({ path }) => path}
          columns={[
            { title: "Where", cell: ({ path }) => <code>{path}</code> },
            { title: "By events and prices", cell: ({ expected }) => expected ?? "–" },
            { title: "In the bill", cell: ({ actual }) => actual ?? "–" },
          ]}
        />
      )}
      {of.lines.length > 0 && (
        <Table
          label="Usage, side by side"
          rows={of.lines}
          keyOf={({ from, billing_model_id, charge_code, match }) =>
            `${from} ${billing_model_id} ${charge_code ?? ""} ${JSON.stringify(match ?? null)}`
          }
          columns={[
            {
              title: "Stretch",
              cell: ({ from, to, charge_code }) => `${period(from, to)} ${charge_code ?? ""}`,
            },
            { title: "Stored events", cell: ({ expected }) => <UsageProof of={expected} /> },
            { title: "In the bill", cell: ({ actual }) => <UsageProof of={actual} /> },
          ]}
        />
      )}
    </div>
  );
}

function UsageProof({ of }: { of: Verification["lines"][number]["actual"] }) {
  return (
    <>
      {number(of.quantity)} in {count(of.event_count, "event")}
      <div class="soft">
        <code title={of.usage_digest}>{of.usage_digest.slice(0, 16)}…</code>
      </div>
    </>
  );
}

/** The other records of the same subscription's period: adjustments link both ways. */
function Others({ of }: { of: BillingRecordDetail }) {
  const others = useAnswer(bills().list, { subscription_id: of.subscription_id, page: 1, limit: 50 });
  return (
    <Await of={others}>
      {(records) => {
        const same = records.filter(
          ({ id, billingStartAt }) => id !== of.id && billingStartAt === of.billingStartAt,
        );
        if (same.length === 0) return null;
        return (
          <Section title="Other bills of this period">
            <Table
              label="Other bills of this period"
              rows={same}
              keyOf={({ id }) => id}
              columns={BILL_COLUMNS}
            />
          </Section>
        );
      }}
    </Await>
  );
}
