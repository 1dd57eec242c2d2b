import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import type { FormConfig, FormStructure } from "../../../forms/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { number } from "../../text/number.ts";
import { date } from "../../text/time.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { type Edited, edited, readAnew } from "../../ui/edited.ts";
import { CheckField, SelectField, TagsField, TextAreaField, TextField } from "../../ui/fields.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { cleaned, Form, Rows, type Values, within } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Badge, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { createMyForm, deleteMyForm, getMyForm, listMyForms, updateMyForm } from "./calls.ts";
import { FormPreview } from "./preview.tsx";

const columns: Column<FormConfig>[] = [
  { title: "Form", cell: ({ id, name }) => <a href={`${BASE}/my/forms/${id}`}>{name}</a> },
  { title: "Fields", is_figure: true, cell: ({ config }) => number(config.fields.length) },
  {
    title: "State",
    cell: ({ is_active }) => (
      <Badge tone={is_active ? "good" : "plain"}>{is_active ? "active" : "inactive"}</Badge>
    ),
  },
  { title: "Changed", is_minor: true, cell: ({ updated_at }) => <Time at={updated_at} show={date} /> },
];

/** The client's own forms. */
export function MyFormsPage() {
  const query = useQuery();
  const forms = useAnswer(listMyForms, query.input(["search"]));
  const add = (
    <LinkButton kind="primary" icon="plus" href={`${BASE}/my/forms/new`}>
      New form
    </LinkButton>
  );
  return (
    <Page
      title="Forms"
      intro="Forms for your own users, which your programs show by the interface."
      actions={add}
    >
      <List
        title="All forms"
        label="Forms"
        loaded={forms}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Name" />}
        empty={
          <Empty title="No forms yet" action={add}>
            A form has a title and fields, and is seen as you build it.
          </Empty>
        }
      />
    </Page>
  );
}

const BLANK: Values = { config: { title: "", fields: [{ type: "text", name: "", label: "" }] } };

/** A new form, seen as it is built. */
export function NewFormPage() {
  const { route } = useLocation();
  return (
    <Page title="New form" above={<a href={`${BASE}/my/forms`}>Forms</a>}>
      <Builder
        schema="CreateForm"
        act="Save form"
        initial={BLANK}
        submit={async (values, key) => {
          const { data } = await write(createMyForm, values, { key });
          route(`${BASE}/my/forms/${data.id}`);
        }}
      />
    </Page>
  );
}

/** One of the client's forms. */
export function MyFormPage({ params }: PageProps) {
  const form = useAnswer(getMyForm, { id: params.id });
  const { route } = useLocation();
  const [is_deleting, setDeleting] = useState(false);
  const record = form.answer?.data;
  return (
    <Page
      title={record?.name ?? `Form #${params.id ?? ""}`}
      above={<a href={`${BASE}/my/forms`}>Forms</a>}
      actions={
        <Button kind="danger" onClick={() => setDeleting(true)}>
          Delete
        </Button>
      }
    >
      <Await of={form}>
        {(of) => (
          <Builder
            schema="UpdateForm"
            act="Save"
            edited={edited(of, {
              fields: ({ name, description, config, is_active }) => ({
                name,
                description,
                config,
                is_active,
              }),
              read: () => readAnew(getMyForm, { id: of.id }),
              is_replaced: true,
            })}
            submit={(values, key, if_match) =>
              write(updateMyForm, { ...values, id: of.id }, { key, if_match })
            }
          />
        )}
      </Await>
      {is_deleting && record && (
        <Confirm
          title="Delete this form?"
          act="Delete form"
          name={record.name}
          onClose={() => setDeleting(false)}
          run={async (key) => {
            await write(deleteMyForm, { id: record.id }, { key });
            route(`${BASE}/my/forms`);
          }}
        >
          <p>Programs that show it no longer find it.</p>
        </Confirm>
      )}
    </Page>
  );
}

const TYPES = ["text", "number", "email", "tel", "select", "textarea", "date", "checkbox"].map((value) => ({
  value,
  label: value,
}));

function Builder(props: {
  schema: string;
  act: string;
  initial?: Values;
  edited?: Edited;
  submit: (values: Values, key: string, if_match?: string) => Promise<unknown>;
}) {
  const { schema, act, submit, ...before } = props;
  return (
    <Form
      schema={schema}
      act={act}
      {...before}
      submit={submit}
      effects={({ config }) => (
        <div class="beside">
          <Section title="As its readers see it">
            <FormPreview of={structureOf(config)} />
          </Section>
        </div>
      )}
    >
      {(form) => {
        const config = within(form, "config");
        return (
          <Section title="The form">
            <div class="field-row">
              <TextField form={form} name="name" label="Name" help="For yourself." />
              <TextField form={config} name="title" label="Title" help={null} />
            </div>
            <TextAreaField
              form={config}
              name="description"
              label="Text under the title"
              rows={2}
              help={null}
            />
            {before.edited && <CheckField form={form} name="is_active" label="Active" />}
            <Rows
              form={config}
              name="fields"
              label="Fields"
              add="Add field"
              at_least={1}
              blank={{ type: "text" }}
            >
              {(row) => (
                <>
                  <div class="field-row">
                    <TextField form={row} name="label" label="Label" help={null} />
                    <TextField
                      form={row}
                      name="name"
                      label="Name of its answer"
                      help={null}
                      placeholder="full_name"
                    />
                  </div>
                  <div class="field-row">
                    <SelectField form={row} name="type" label="Type" choices={TYPES} help={null} />
                    {row.values.type === "select" ? (
                      <TagsField form={row} name="options" label="Options" help="Enter adds one." />
                    ) : (
                      <TextField form={row} name="placeholder" label="Hint inside" help={null} />
                    )}
                  </div>
                  <CheckField form={row} name="required" label="Required" help={null} />
                </>
              )}
            </Rows>
          </Section>
        );
      }}
    </Form>
  );
}

/** What was typed so far, as a form: with a word for what is missing. */
function structureOf(config: unknown): FormStructure {
  const typed = cleaned(config);
  // A form's values begin as a structure, and only its fields change them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { title = "", description, fields = [] } = typed as Partial<FormStructure>;
  return {
    title: title || "Title",
    ...(description !== undefined && { description }),
    fields: fields.map((field, i) => ({
      ...field,
      name: `${i} ${field.name ?? ""}`,
      label: field.label || "Label",
    })),
  };
}
