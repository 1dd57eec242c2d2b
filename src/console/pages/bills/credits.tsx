import type { CreditRow } from "../../../billing/credits/model.ts";
import { useAnswer } from "../../api/cache.ts";
import type { Received } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import { count, number, percent } from "../../text/number.ts";
import { calendarDay } from "../../text/time.ts";
import { Gauge } from "../../ui/bars.tsx";
import { Filters, SelectFilter } from "../../ui/filters.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { PickFilter } from "../../ui/picker.tsx";
import { Empty } from "../../ui/states.tsx";
import { type Column, ListTable } from "../../ui/table.tsx";
import { CLIENTS } from "../../ui/sources.ts";
import { listCredits } from "./calls.ts";

const columns: Column<Received<CreditRow>>[] = [
  {
    title: "Subscription",
    sort: "subscription_id",
    cell: ({ subscription_id, subscription_name, client_id, client_name }) => (
      <>
        <a href={`${BASE}/subscriptions/${subscription_id}`}>{subscription_name}</a>
        <div class="soft">
          <a href={`${BASE}/clients/${client_id}`}>{client_name}</a>
        </div>
      </>
    ),
  },
  { title: "Plan", cell: ({ planName }) => planName, is_minor: true },
  {
    title: "Used",
    sort: "used_percent",
    cell: ({ used, allocated, used_percent }) => (
      <>
        <Gauge
          used={used}
          of={allocated}
          label={`${percent(used_percent)} of ${count(allocated, "credit")} used`}
        />
        {number(used)} of {number(allocated)} ({percent(used_percent)})
      </>
    ),
  },
  { title: "Beyond", is_figure: true, is_minor: true, cell: ({ overageUsed }) => number(overageUsed) },
  {
    title: "Runs out on",
    sort: "runs_out_on",
    cell: ({ runs_out_on }) => (runs_out_on === null ? "–" : calendarDay(runs_out_on)),
  },
];

/** The credits of all subscriptions, the most used first. */
export function CreditsPage() {
  const query = useQuery();
  const input = query.input(["reached", "client_id"]);
  const credits = useAnswer(listCredits, input);
  return (
    <Page
      title="Credits"
      intro="Who nears or has passed what a month's plan includes. The day is a forecast in a straight line."
    >
      <Section title="Subscriptions with credits">
        <Filters query={query}>
          <PickFilter query={query} name="client_id" label="Client" source={CLIENTS} />
          <SelectFilter
            query={query}
            name="reached"
            label="Have reached"
            choices={[
              { value: "80", label: percent(80) },
              { value: "100", label: percent(100) },
            ]}
          />
        </Filters>
        <ListTable
          label="Credits"
          loaded={credits}
          columns={columns}
          keyOf={({ subscription_id }) => subscription_id}
          query={query}
          csv={{ to: listCredits, input }}
          empty={
            <Empty title="No credits yet">
              Subscriptions on a billing model of the type credit are listed here.
            </Empty>
          }
        />
      </Section>
    </Page>
  );
}
