import type { Static } from "@sinclair/typebox";
import type { ClientOverview } from "../../../billing/self_service/model.ts";
import { useAnswer } from "../../api/cache.ts";
import type { Received } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { ago, period } from "../../text/time.ts";
import { Gauge } from "../../ui/bars.tsx";
import { Figure, Page, Section } from "../../ui/page.tsx";
import { Await, Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { getOverview } from "./calls.ts";

type Running = Received<Static<typeof ClientOverview>>["subscriptions"][number];

/** What a client user sees first. */
export function MyOverviewPage() {
  const overview = useAnswer(getOverview);
  return (
    <Page title="Overview" intro="What your running periods come to so far.">
      <Await of={overview} rows={6}>
        {({ totals, subscriptions, subscriptions_total, last_bill, as_of }) => (
          <>
            <div class="figures-row">
              {totals.map(({ currency, total }) => (
                <Figure
                  key={currency}
                  label="So far"
                  value={money(total, currency)}
                  note={`as of ${ago(as_of)}`}
                />
              ))}
              {last_bill && (
                <Figure
                  label={`Last bill, ${period(last_bill.billingStartAt, last_bill.billingEndAt)}`}
                  value={money(last_bill.totalCharges, last_bill.currency)}
                  href={`${BASE}/my/bills/${last_bill.id}`}
                />
              )}
            </div>
            <Section title={count(subscriptions_total, "subscription")}>
              {subscriptions.length === 0 ? (
                <Empty title="No subscriptions" />
              ) : (
                <Table label="Subscriptions" rows={subscriptions} keyOf={({ id }) => id} columns={COLUMNS} />
              )}
            </Section>
          </>
        )}
      </Await>
    </Page>
  );
}

const COLUMNS = [
  {
    title: "Subscription",
    cell: ({ id, name, plan }: Running) => (
      <>
        <a href={`${BASE}/my/subscriptions/${id}`}>{name}</a>
        <div class="soft">{plan.name}</div>
      </>
    ),
  },
  { title: "Period", cell: ({ from, to }: Running) => period(from, to) },
  {
    title: "Credits",
    cell: ({ credits }: Running) =>
      credits === null ? (
        "–"
      ) : (
        <>
          <Gauge
            used={credits.used}
            of={credits.allocated}
            label={`${number(credits.used)} of ${count(credits.allocated, "credit")} used`}
          />
          {number(credits.used)} of {number(credits.allocated)}
        </>
      ),
  },
  { title: "So far", is_figure: true, cell: ({ total, currency }: Running) => money(total, currency) },
];
