import type { Meter } from "../../../billing/meters/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { List } from "../../ui/list.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { METERS } from "../../ui/sources.ts";
import { termsText } from "./terms_text.ts";

const columns: Column<Meter>[] = [
  {
    title: "Meter",
    cell: ({ id, name, code }) => (
      <>
        <a href={`${BASE}/meters/${id}`}>{name}</a>
        <div class="soft">{code}</div>
      </>
    ),
  },
  { title: "Counts", cell: (meter) => <Badge>{words(meter.aggregation)}</Badge> },
  { title: "Of", cell: termsText },
  { title: "By", is_minor: true, cell: ({ group_keys }) => group_keys.join(", ") || "–" },
];

/** What counts. */
export function MetersPage() {
  const query = useQuery();
  const meters = useAnswer(METERS.from, query.input(["search"]));
  const add = may("meters:write") && (
    <LinkButton kind="primary" icon="plus" href={`${BASE}/meters/new`}>
      New meter
    </LinkButton>
  );
  return (
    <Page
      title="Meters"
      intro="What counts of the events: sums, numbers of different users, levels. A meter made today counts events of any age."
      actions={add}
    >
      <List
        title="All meters"
        label="Meters"
        loaded={meters}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Name or code" />}
        empty={
          <Empty title="No meters yet" action={add}>
            Without one, a billing model counts the units of all usage. Meters count parts of it, such as
            tokens that go in.
          </Empty>
        }
      />
    </Page>
  );
}
