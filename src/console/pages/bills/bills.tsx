import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { bills, namedBillColumns } from "../../ui/bills.tsx";
import { LinkButton } from "../../ui/button.tsx";
import { DateFilter, SelectFilter } from "../../ui/filters.tsx";
import { List } from "../../ui/list.tsx";
import { RECORD_KIND_NAMES } from "../../ui/names.ts";
import { Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { PickFilter } from "../../ui/picker.tsx";
import { Empty } from "../../ui/states.tsx";
import { CLIENTS } from "../../ui/sources.ts";

const KINDS = Object.entries(RECORD_KIND_NAMES).map(([value, label]) => ({ value, label }));

/** All bills, the last written first. */
export function BillsPage() {
  const query = useQuery();
  const filters = query.input(["kind", "client_id", "subscription_id", "currency", "month"]);
  const input = { ...filters, with: "names", sums: true };
  const loaded = useAnswer(bills().list, input);
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
      <List
        title="All bills"
        label="Bills"
        loaded={loaded}
        columns={namedBillColumns()}
        query={query}
        filters={
          <>
            <PickFilter query={query} name="client_id" label="Client" source={CLIENTS} />
            <DateFilter query={query} name="month" label="Month" kind="month" />
            <SelectFilter query={query} name="kind" label="Kind" choices={KINDS} />
          </>
        }
        csv={{ to: bills().list, input }}
        empty={
          <Empty title="No bills yet">
            A subscription is billed when its period ends, every hour by itself. A billing run by hand bills
            what is due now, and shows it first.
          </Empty>
        }
      />
    </Page>
  );
}
