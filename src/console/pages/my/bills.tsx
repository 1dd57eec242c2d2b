import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { money } from "../../text/money.ts";
import { number } from "../../text/number.ts";
import { period } from "../../text/time.ts";
import { bills, namedBillColumns } from "../../ui/bills.tsx";
import { BillLines } from "../../ui/bill_lines.tsx";
import { LinkButton } from "../../ui/button.tsx";
import { List } from "../../ui/list.tsx";
import { Facts, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import { Time } from "../../ui/timeline.tsx";
import { getBill } from "./calls.ts";

/** The client's bills. */
export function MyBillsPage() {
  const query = useQuery();
  const input = { ...query.input([]), with: "names", sums: true };
  const loaded = useAnswer(bills().list, input);
  return (
    <Page title="Bills">
      <List
        title="All bills"
        label="Bills"
        loaded={loaded}
        columns={namedBillColumns()}
        query={query}
        csv={{ to: bills().list, input }}
        empty={<Empty title="No bills yet">The first comes when the first period ends.</Empty>}
      />
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
            <BillLines
              lines={of.lines}
              currency={of.currency}
              total={of.totalCharges}
              subscription_id={of.subscription_id}
            />
          </Section>
        )}
      </Await>
    </Page>
  );
}
