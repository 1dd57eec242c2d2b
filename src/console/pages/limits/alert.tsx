import type { Alert, AlertFiring } from "../../../entitlements/alerts/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { number } from "../../text/number.ts";
import { List } from "../../ui/list.tsx";
import { MeterLink, SubscriptionLink } from "../../ui/named_link.tsx";
import { DateFilter } from "../../ui/filters.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { scopeText, thresholdText } from "./alerts.tsx";
import { getAlert, listFirings } from "./calls.ts";

/** One alert and what it told. */
export function AlertPage({ params }: PageProps) {
  const alert = useAnswer(getAlert, { id: params.id });
  const record = alert.answer?.data;
  return (
    <Page
      title={record?.name ?? `Alert #${params.id ?? ""}`}
      above={<a href={`${BASE}/alerts`}>Alerts</a>}
      beside={record && <Badge>{record.on}</Badge>}
    >
      <Await of={alert}>
        {(of) => (
          <>
            <Section title="What it tells">
              <Facts
                of={[
                  ["At", of.thresholds.map((threshold) => thresholdText(of, threshold)).join(", ")],
                  of.feature === null ? undefined : ["Feature", of.feature],
                  ["Of", scopeText(of)],
                  of.meter_id === null ? undefined : ["Meter", <MeterLink id={of.meter_id} />],
                ]}
              />
            </Section>
            <Firings of={of} />
          </>
        )}
      </Await>
    </Page>
  );
}

function Firings({ of }: { of: Alert }) {
  const query = useQuery();
  const firings = useAnswer(listFirings, { id: of.id, ...query.input(["from", "to"]) });
  const columns: Column<AlertFiring>[] = [
    { title: "When", cell: ({ at }) => <Time at={at} /> },
    {
      title: "Subscription",
      cell: ({ subscription_id }) => <SubscriptionLink id={subscription_id} />,
    },
    { title: "Threshold", is_figure: true, cell: ({ threshold }) => thresholdText(of, threshold) },
    { title: "It was", is_figure: true, cell: ({ value }) => number(value) },
    {
      title: "Of",
      is_minor: true,
      cell: ({ window, group }) => `${window}${group === null ? "" : `, ${group}`}`,
    },
  ];
  return (
    <List
      title="What it told"
      label="What it told"
      loaded={firings}
      columns={columns}
      query={query}
      filters={
        <>
          <DateFilter query={query} name="from" label="From" />
          <DateFilter query={query} name="to" label="Before" />
        </>
      }
      empty={<Empty title="Nothing yet" />}
    />
  );
}
