import type { BillingRecord } from "../../../billing/records/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { money } from "../../text/money.ts";
import { number } from "../../text/number.ts";
import { date, period } from "../../text/time.ts";
import { BillLines, Money } from "../../ui/bill_lines.tsx";
import { LinkButton } from "../../ui/button.tsx";
import { RECORD_KIND_NAMES } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import { type Column, ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { getBill, listBills } from "./calls.ts";

const columns: Column<BillingRecord>[] = [
  {
    title: "Bill",
    cell: ({ id, kind }) => (
      <>
        <a href={`${BASE}/my/bills/${id}`}>#{id}</a>{" "}
        {kind !== "period" && <Badge>{RECORD_KIND_NAMES[kind]}</Badge>}
      </>
    ),
  },
  { title: "Period", cell: ({ billingStartAt, billingEndAt }) => period(billingStartAt, billingEndAt) },
  {
    title: "Amount",
    is_figure: true,
    cell: ({ totalCharges, currency }) => <Money of={totalCharges} currency={currency} />,
  },
  { title: "Written", is_minor: true, cell: ({ created_at }) => <Time at={created_at} show={date} /> },
];

/** The client's bills. */
export function MyBillsPage() {
  const query = useQuery();
  const input = query.input([]);
  const bills = useAnswer(listBills, input);
  return (
    <Page title="Bills">
      <Section title="All bills">
        <ListTable
          label="Bills"
          loaded={bills}
          columns={columns}
          keyOf={({ id }) => id}
          query={query}
          csv={{ to: listBills, input }}
          empty={<Empty title="No bills yet">The first comes when the first period ends.</Empty>}
        />
      </Section>
    </Page>
  );
}

/** One of the client's bills. */
export function MyBillPage({ params }: PageProps) {
  const bill = useAnswer(getBill, { id: params.id });
  return (
    <Page
      title={`Bill #${params.id ?? ""}`}
      above={<a href={`${BASE}/my/bills`}>Bills</a>}
      actions={
        <LinkButton href={`/api/v1/my/billing-records/${params.id ?? ""}/invoice`} icon="external">
          To print
        </LinkButton>
      }
    >
      <Await of={bill}>
        {(of) => (
          <Section title={money(of.totalCharges, of.currency)}>
            <Facts
              of={[
                ["Period", period(of.billingStartAt, of.billingEndAt)],
                [
                  "Subscription",
                  <a href={`${BASE}/my/subscriptions/${of.subscription_id}`}>{of.subscription.name}</a>,
                ],
                ["Units", number(of.billedUnits)],
                ["Written", <Time at={of.created_at} />],
              ]}
            />
            <BillLines lines={of.lines} currency={of.currency} total={of.totalCharges} />
          </Section>
        )}
      </Await>
    </Page>
  );
}
