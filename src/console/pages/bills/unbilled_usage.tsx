import type { UnbilledUsage } from "../../../billing/runs/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { number } from "../../text/number.ts";
import { List } from "../../ui/list.tsx";
import { SubscriptionLink } from "../../ui/named_link.tsx";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { listUnbilledUsage } from "./calls.ts";
import type { Static } from "@sinclair/typebox";

const columns: Column<Static<typeof UnbilledUsage>>[] = [
  {
    title: "Subscription",
    cell: ({ subscription_id }) => <SubscriptionLink id={subscription_id} />,
  },
  {
    title: "Why",
    cell: ({ reason }) => (
      <Badge tone="warn">{reason === "late" ? "stored too late" : "after its end"}</Badge>
    ),
  },
  { title: "From", cell: ({ from }) => <Time at={from} /> },
  { title: "To", cell: ({ to }) => <Time at={to} />, is_minor: true },
  { title: "Events", is_figure: true, cell: ({ event_count }) => number(event_count) },
  { title: "Units", is_figure: true, cell: ({ units }) => number(units) },
  {
    title: "Bill",
    cell: ({ billing_record_id }) =>
      billing_record_id === null ? (
        "–"
      ) : (
        <a href={`${BASE}/bills/${billing_record_id}`}>#{billing_record_id}</a>
      ),
  },
];

/** Stored usage that no bill counts. */
export function UnbilledUsagePage() {
  const query = useQuery();
  const found = useAnswer(listUnbilledUsage, { page: query.values.page ?? "1", limit: 20 });
  return (
    <Page
      title="Unbilled usage"
      intro="Usage that came after its period was last rechecked is billed by a run that names the month. Usage after a subscription's end is billed by none."
    >
      <List
        title="Findings"
        label="Unbilled usage"
        loaded={found}
        columns={columns}
        query={query}
        empty={<Empty title="None">All stored usage is on a bill, or will be when its period ends.</Empty>}
      />
    </Page>
  );
}
