import { useState } from "preact/hooks";
import type { Feature } from "../../../billing/features/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may } from "../../app/session.ts";
import { edited, readAnew } from "../../ui/edited.ts";
import { List } from "../../ui/list.tsx";
import { MeterLink } from "../../ui/named_link.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { SelectField, TextAreaField, TextField } from "../../ui/fields.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Badge, Page } from "../../ui/page.tsx";
import { PickField } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { METERS } from "../../ui/sources.ts";
import { createFeature, deleteFeature, getFeature, listFeatures, updateFeature } from "./calls.ts";

const KINDS = [
  { value: "limit", label: "limit: so much of what a meter counts" },
  { value: "switch", label: "switch: on or off" },
  { value: "value", label: "value: a text, such as a tier of support" },
];

const columns: Column<Feature>[] = [
  {
    title: "Feature",
    cell: ({ name, code }) => (
      <>
        {name}
        <div class="soft">{code}</div>
      </>
    ),
  },
  { title: "Kind", cell: ({ kind }) => <Badge>{kind}</Badge> },
  {
    title: "Counts by",
    cell: ({ meter_id, kind }) =>
      kind !== "limit" ? "–" : meter_id === null ? "all usage" : <MeterLink id={meter_id} />,
  },
  { title: "Description", is_minor: true, cell: ({ description }) => description || "–" },
];

/** What plans grant. */
export function FeaturesPage() {
  const query = useQuery();
  const creation = useCreation(query, "New feature", "entitlements:write");
  const features = useAnswer(listFeatures, query.input(["search"]));
  const [open, setOpen] = useState<{ kind: "edit" | "delete"; of: Feature }>();
  const close = () => setOpen(undefined);
  const can_write = may("entitlements:write");
  const acts = (of: Feature) => (
    <Menu label={`Acts for ${of.name}`}>
      <MenuItem onSelect={() => setOpen({ kind: "edit", of })}>Edit</MenuItem>
      <MenuItem onSelect={() => setOpen({ kind: "delete", of })}>Delete</MenuItem>
    </Menu>
  );
  return (
    <Page
      title="Features"
      intro="What billing models and add-ons grant, and what a gateway asks about before each call."
      actions={creation.button}
    >
      <List
        title="All features"
        label="Features"
        loaded={features}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Name or code" />}
        empty={
          <Empty title="No features yet" action={creation.first}>
            A limit on tokens, single sign-on, a tier of support.
          </Empty>
        }
        {...(can_write && { acts })}
      />
      {(creation.is_open || open?.kind === "edit") && (
        <FeatureDialog
          {...(open && { of: open.of })}
          onClose={() => {
            close();
            creation.close();
          }}
        />
      )}
      {open?.kind === "delete" && (
        <Confirm
          title="Delete this feature?"
          act="Delete feature"
          name={open.of.name}
          onClose={close}
          run={(key) => write(deleteFeature, { id: open.of.id }, { key })}
        >
          <p>One that a billing model or a subscription grants cannot be deleted.</p>
        </Confirm>
      )}
    </Page>
  );
}

function FeatureDialog({ of, onClose }: { of?: Feature; onClose: () => void }) {
  return (
    <FormDialog
      title={of === undefined ? "New feature" : `Edit ${of.name}`}
      onClose={onClose}
      schema={of === undefined ? "CreateFeature" : "UpdateFeature"}
      act={of === undefined ? "Add feature" : "Save"}
      {...(of === undefined
        ? { initial: { kind: "limit" } }
        : {
            edited: edited(of, {
              fields: ({ name, description }) => ({ name, description }),
              read: () => readAnew(getFeature, { id: of.id }),
            }),
          })}
      submit={(values, key, if_match) =>
        of === undefined
          ? write(createFeature, values, { key })
          : write(updateFeature, { ...values, id: of.id }, { key, if_match })
      }
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" help={null} />
          {of === undefined && (
            <>
              <TextField form={form} name="code" label="Code" placeholder="output_tokens" />
              <SelectField form={form} name="kind" label="Kind" choices={KINDS} help={null} />
              {form.values.kind === "limit" && (
                <PickField
                  form={form}
                  name="meter_id"
                  label="Counts by"
                  source={METERS}
                  help="Left empty: all usage."
                />
              )}
            </>
          )}
          <TextAreaField form={form} name="description" label="Description" rows={2} help={null} />
        </>
      )}
    </FormDialog>
  );
}
