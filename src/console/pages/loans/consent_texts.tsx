import { useState } from "preact/hooks";
import type { ConsentDefinition } from "../../../loans/consent_definitions/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { Button } from "../../ui/button.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Confirm, Sheet } from "../../ui/dialog.tsx";
import { NumberField, TagsField, TextAreaField, TextField } from "../../ui/fields.tsx";
import { SelectFilter } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Badge, Facts, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { createDefinition, listDefinitions, publishDefinition, retireDefinition } from "./calls.ts";
import { Environment, titleIn } from "./environment.tsx";

const TONES = { draft: "plain", published: "good", retired: "warn" } as const;

type Open = { kind: "read" | "publish" | "retire"; of: ConsentDefinition };

/** Texts that borrowers are asked to consent to, in versions and languages. */
export function ConsentTextsPage({ params }: PageProps) {
  const environment = params.environment ?? "production";
  const query = useQuery();
  const creation = useCreation(query, "New text", "lending:write");
  const definitions = useAnswer(listDefinitions, { environment, ...query.input(["status"]) });
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const can_write = may("lending:write");
  const columns: Column<ConsentDefinition>[] = [
    {
      title: "Text",
      cell: (of) => (
        <>
          <Button kind="link" onClick={() => setOpen({ kind: "read", of })}>
            {of.title}
          </Button>
          <div class="soft">{of.code}</div>
        </>
      ),
    },
    { title: "Version", is_figure: true, cell: ({ version }) => String(version) },
    { title: "Language", cell: ({ locale }) => locale },
    { title: "State", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  ];
  const acts = (of: ConsentDefinition) =>
    of.status !== "retired" && (
      <Menu label={`Acts for ${of.title}`}>
        {of.status === "draft" ? (
          <MenuItem onSelect={() => setOpen({ kind: "publish", of })}>Publish</MenuItem>
        ) : (
          <MenuItem onSelect={() => setOpen({ kind: "retire", of })}>Retire</MenuItem>
        )}
      </Menu>
    );
  return (
    <Page
      title={titleIn(environment, "Consent texts")}
      intro="What borrowers are asked to consent to. A published text does not change: it gets a new version."
      actions={creation.button}
    >
      <Environment of={environment} at="consents">
        <List
          title="All texts"
          label="Consent texts"
          loaded={definitions}
          columns={columns}
          query={query}
          filters={
            <>
              <SelectFilter
                query={query}
                name="status"
                label="State"
                choices={Object.keys(TONES).map((value) => ({ value, label: value }))}
              />
            </>
          }
          empty={<Empty title="No texts yet" />}
          {...(can_write && { acts })}
        />
      </Environment>
      {creation.is_open && <NewText environment={environment} onClose={creation.close} />}
      {open?.kind === "read" && (
        <Sheet title={open.of.title} onClose={close}>
          <Facts
            of={[
              ["Code", open.of.code],
              ["Version", String(open.of.version)],
              ["Language", open.of.locale],
              ["For", open.of.audience],
              ["Data", open.of.data_categories.join(", ")],
              ["SHA-256", <code>{open.of.text_sha256}</code>],
            ]}
          />
          <h3>Purpose</h3>
          <p>{open.of.purpose_text}</p>
          <h3>Data</h3>
          <p>{open.of.data_text}</p>
        </Sheet>
      )}
      {open?.kind === "publish" && (
        <Confirm
          title="Publish this text?"
          act="Publish"
          kind="primary"
          onClose={close}
          run={(key) => write(publishDefinition, { environment, id: open.of.id }, { key })}
        >
          <p>It can be consented to from now on, and does not change any more.</p>
        </Confirm>
      )}
      {open?.kind === "retire" && (
        <Confirm
          title="Retire this text?"
          act="Retire"
          onClose={close}
          run={(key) => write(retireDefinition, { environment, id: open.of.id }, { key })}
        >
          <p>Nobody can consent to it any more. Consents that were given stay.</p>
        </Confirm>
      )}
    </Page>
  );
}

function NewText({ environment, onClose }: { environment: string; onClose: () => void }) {
  return (
    <FormDialog
      title="New text"
      onClose={onClose}
      schema="CreateConsentDefinition"
      act="Save as draft"
      initial={{ locale: "en", data_categories: [] }}
      submit={(values, key) => write(createDefinition, { ...values, environment }, { key })}
    >
      {(form) => (
        <>
          <TextField form={form} name="title" label="Title" help={null} />
          <div class="field-row">
            <TextField form={form} name="code" label="Code" help={null} />
            <TextField form={form} name="locale" label="Language" help="Such as en or ms-MY" />
          </div>
          <TextAreaField form={form} name="purpose_text" label="Purpose" rows={4} help={null} />
          <TextAreaField form={form} name="data_text" label="Data" rows={4} help={null} />
          <TagsField form={form} name="data_categories" label="Categories of data" help="Enter adds one." />
          <TextField form={form} name="audience" label="Who receives it" help={null} />
          <div class="field-row">
            <NumberField
              form={form}
              name="data_life_days"
              label="Days the data is kept"
              help="Left empty: as long as needed."
            />
            <NumberField
              form={form}
              name="validity_days"
              label="Days the consent is valid"
              help="Left empty: until it is revoked."
            />
          </div>
        </>
      )}
    </FormDialog>
  );
}
