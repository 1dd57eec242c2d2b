import type { FormConfig } from "../../../forms/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { number } from "../../text/number.ts";
import { date } from "../../text/time.ts";
import { List } from "../../ui/list.tsx";
import { ClientLink } from "../../ui/named_link.tsx";
import { SearchFilter, SelectFilter } from "../../ui/filters.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { PickFilter } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { CLIENTS } from "../../ui/sources.ts";
import { getForm, listForms } from "./calls.ts";
import { FormPreview } from "./preview.tsx";

const columns: Column<FormConfig>[] = [
  { title: "Form", cell: ({ id, name }) => <a href={`${BASE}/forms/${id}`}>{name}</a> },
  {
    title: "Client",
    cell: ({ client_id }) => <ClientLink id={client_id} />,
  },
  { title: "Fields", is_figure: true, cell: ({ config }) => number(config.fields.length) },
  {
    title: "State",
    cell: ({ is_active }) => (
      <Badge tone={is_active ? "good" : "plain"}>{is_active ? "active" : "inactive"}</Badge>
    ),
  },
  { title: "Changed", is_minor: true, cell: ({ updated_at }) => <Time at={updated_at} show={date} /> },
];

/** All clients' forms. */
export function FormsPage() {
  const query = useQuery();
  const forms = useAnswer(listForms, query.input(["search", "client_id", "is_active"]));
  return (
    <Page title="Forms" intro="Forms that client users have built, as their readers see them.">
      <List
        title="All forms"
        label="Forms"
        loaded={forms}
        columns={columns}
        query={query}
        filters={
          <>
            <SearchFilter query={query} name="search" label="Name" />
            <PickFilter query={query} name="client_id" label="Client" source={CLIENTS} />
            <SelectFilter
              query={query}
              name="is_active"
              label="State"
              choices={[
                { value: "true", label: "active" },
                { value: "false", label: "inactive" },
              ]}
            />
          </>
        }
        empty={<Empty title="No forms yet">Client users build them in their own part of this console.</Empty>}
      />
    </Page>
  );
}

/** One form. */
export function FormPage({ params }: PageProps) {
  const form = useAnswer(getForm, { id: params.id });
  return (
    <Page
      title={form.answer?.data.name ?? `Form #${params.id ?? ""}`}
      above={<a href={`${BASE}/forms`}>Forms</a>}
    >
      <Await of={form}>
        {(of) => (
          <>
            <Section title="About">
              <Facts
                of={[
                  ["Client", <ClientLink id={of.client_id} />],
                  [
                    "State",
                    <Badge tone={of.is_active ? "good" : "plain"}>
                      {of.is_active ? "active" : "inactive"}
                    </Badge>,
                  ],
                  ["Description", of.description],
                  ["Changed", <Time at={of.updated_at} />],
                ]}
              />
            </Section>
            <Section title="As its readers see it">
              <FormPreview of={of.config} />
            </Section>
          </>
        )}
      </Await>
    </Page>
  );
}
