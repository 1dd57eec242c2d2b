import type { BillingRecord } from "../../../billing/records/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { Money } from "../../ui/bill_lines.tsx";
import { LinkButton } from "../../ui/button.tsx";
import { DateFilter, Filters, SelectFilter } from "../../ui/filters.tsx";
import { RECORD_KIND_NAMES } from "../../ui/names.ts";
import { Badge, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { PickFilter } from "../../ui/picker.tsx";
import { Empty } from "../../ui/states.tsx";
import { type Column, ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { number } from "../../text/number.ts";
import { date, period } from "../../text/time.ts";
import { CLIENTS } from "../../ui/sources.ts";
import { listBills } from "./calls.ts";

const KINDS = Object.entries(RECORD_KIND_NAMES).map(([value, label]) => ({ value, label }));

const columns: Column<BillingRecord>[] = [
  {
    title: "Bill",
    cell: ({ id, kind }) => (
      <>
        <a href={`${BASE}/bills/${id}`}>#{id}</a>{" "}
        {kind !== "period" && <Badge>{RECORD_KIND_NAMES[kind]}</Badge>}
      </>
    ),
  },
  {
    title: "Subscription",
    cell: ({ subscription_id }) => (
      <a href={`${BASE}/subscriptions/${subscription_id}`}>#{subscription_id}</a>
    ),
  },
  { title: "Period", cell: ({ billingStartAt, billingEndAt }) => period(billingStartAt, billingEndAt) },
  { title: "Units", is_figure: true, is_minor: true, cell: ({ billedUnits }) => number(billedUnits) },
  {
    title: "Amount",
    is_figure: true,
    cell: ({ totalCharges, currency }) => <Money of={totalCharges} currency={currency} />,
  },
  { title: "Written", is_minor: true, cell: ({ created_at }) => <Time at={created_at} show={date} /> },
];

/** All bills, the last written first. */
export function BillsPage() {
  const query = useQuery();
  const input = query.input(["kind", "client_id", "subscription_id", "month"]);
  const bills = useAnswer(listBills, input);
  return (
    <Page
      title="Bills"
      intro="What subscriptions owe for their periods, and what was adjusted later. A bill is never edited."
      actions={
        may("billing:write") && (
          <LinkButton href={`${BASE}/billing-runs`} icon="runs">
            Billing runs
          </LinkButton>
        )
      }
    >
      <Section title="All bills">
        <Filters query={query}>
          <PickFilter query={query} name="client_id" label="Client" source={CLIENTS} />
          <DateFilter query={query} name="month" label="Month" kind="month" />
          <SelectFilter query={query} name="kind" label="Kind" choices={KINDS} />
        </Filters>
        <ListTable
          label="Bills"
          loaded={bills}
          columns={columns}
          keyOf={({ id }) => id}
          query={query}
          csv={{ to: listBills, input }}
          empty={
            <Empty title="No bills yet">
              A subscription is billed when its period ends, every hour by itself. A billing run by hand bills
              what is due now, and shows it first.
            </Empty>
          }
        />
      </Section>
    </Page>
  );
}
