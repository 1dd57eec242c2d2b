import { useLocation } from "preact-iso";
import type { Client } from "../../../tenancy/clients/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { date } from "../../text/time.ts";
import { useCreation } from "../../ui/creation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Filters, SearchFilter } from "../../ui/filters.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Form } from "../../ui/form.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import { type Column, ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { CLIENTS } from "../../ui/sources.ts";
import { createClient } from "./calls.ts";

const columns: Column<Client>[] = [
  { title: "Name", sort: "name", cell: ({ id, name }) => <a href={`${BASE}/clients/${id}`}>{name}</a> },
  { title: "Number", sort: "id", is_figure: true, cell: ({ id }) => `#${id}`, is_minor: true },
  { title: "Since", sort: "created_at", cell: ({ created_at }) => <Time at={created_at} show={date} /> },
];

/** Who is billed. */
export function ClientsPage() {
  const query = useQuery();
  const { route } = useLocation();
  const creation = useCreation(query, "New client", "clients:write");
  const input = query.input(["search"]);
  const clients = useAnswer(CLIENTS.from, input);
  return (
    <Page
      title="Clients"
      intro="Companies that you bill. Each has subscriptions, bills and users of its own."
      actions={creation.button}
    >
      <Section title="All clients">
        <Filters query={query}>
          <SearchFilter query={query} name="search" label="Name" />
        </Filters>
        <ListTable
          label="Clients"
          loaded={clients}
          columns={columns}
          keyOf={({ id }) => id}
          query={query}
          csv={{ to: CLIENTS.from, input }}
          empty={
            <Empty
              title="No clients yet"
              action={creation.first}
              curl={`curl ${location.origin}/api/v1/clients -H "Authorization: Bearer $TOKEN" \\\n  -H "Content-Type: application/json" -d '{"name": "Acme"}'`}
            >
              A client is whom you bill: it has subscriptions, and users who see their own usage and bills.
            </Empty>
          }
        />
      </Section>
      {creation.is_open && (
        <Dialog title="New client" onClose={creation.close}>
          <Form
            schema="CreateClient"
            act="Add client"
            onCancel={creation.close}
            submit={async (values, key) => {
              const { data } = await write(createClient, values, { key });
              route(`${BASE}/clients/${data.id}`);
            }}
          >
            {(form) => <TextField form={form} name="name" label="Name" />}
          </Form>
        </Dialog>
      )}
    </Page>
  );
}
