import type { Static } from "@sinclair/typebox";
import type { Client } from "../../../src/tenancy/clients/model.ts";
import type { ClientDetail } from "../../../src/billing/clients/model.ts";
import { get, list } from "../../../src/console/api/call.ts";
import { useAnswer } from "../../../src/console/api/cache.ts";
import { date } from "../../../src/console/text/time.ts";
import { DateFilter, Filters, SearchFilter, SelectFilter } from "../../../src/console/ui/filters.tsx";
import { Menu, MenuItem } from "../../../src/console/ui/menu.tsx";
import { Json, Section, Tabs } from "../../../src/console/ui/page.tsx";
import { PickFilter, type Source } from "../../../src/console/ui/picker.tsx";
import { useQuery } from "../../../src/console/ui/query.ts";
import { Await, Empty } from "../../../src/console/ui/states.tsx";
import { ListTable } from "../../../src/console/ui/table.tsx";
import { Time } from "../../../src/console/ui/timeline.tsx";
import { say } from "../../../src/console/ui/toast.tsx";

const listClients = list<typeof Client>("/clients");
const getClient = get<typeof ClientDetail>("/clients/:id");

export const CLIENTS: Source<Static<typeof Client>> = {
  from: listClients,
  one: getClient,
  nameOf: ({ name }) => name,
};

export function Lists() {
  const query = useQuery();
  const input = query.input(["search"], 5);
  const clients = useAnswer(listClients, input);
  const { client } = query.values;
  const one = useAnswer(getClient, client === undefined ? null : { id: client }, { every_ms: 200 });
  return (
    <Section title="Lists">
      <Tabs
        label="Kinds"
        of={[
          { title: "All", href: "/console/kit", is_open: true },
          { title: "Others", href: "/console/kit?search=other", is_open: false },
        ]}
      />
      <Filters query={query}>
        <SearchFilter query={query} name="search" label="Name" />
        <SelectFilter
          query={query}
          name="state"
          label="State"
          choices={[{ value: "active", label: "Active" }]}
        />
        <DateFilter query={query} name="from" label="From" />
        <PickFilter query={query} name="client" label="One client" source={CLIENTS} />
      </Filters>
      <ListTable
        label="Clients"
        loaded={clients}
        query={query}
        keyOf={({ id }) => id}
        columns={[
          { title: "Name", cell: ({ name }) => name, sort: "name" },
          { title: "Number", cell: ({ id }) => id, sort: "id", is_figure: true },
          {
            title: "Since",
            cell: ({ created_at }) => <Time at={created_at} show={date} />,
            is_minor: true,
          },
        ]}
        acts={({ name }) => (
          <Menu label={`Acts for ${name}`}>
            <MenuItem onSelect={() => say(`${name} waved`)}>Wave</MenuItem>
            <MenuItem onSelect={() => say(`${name} fell`, "bad")}>Fall</MenuItem>
            <MenuItem href="/console/kit?search=linked">Link</MenuItem>
          </Menu>
        )}
        csv={{ to: listClients, input }}
        empty={
          <Empty title="No clients yet" curl="curl -X POST /api/v1/clients">
            Those who are billed.
          </Empty>
        }
      />
      {client !== undefined && <Await of={one}>{(record) => <Json of={record} />}</Await>}
    </Section>
  );
}
