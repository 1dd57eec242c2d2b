import { useState } from "preact/hooks";
import type { AddOn } from "../../../billing/add_ons/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { company, may } from "../../app/session.ts";
import { isolated } from "../../text/isolated.ts";
import { unitPrice } from "../../text/money.ts";
import { number } from "../../text/number.ts";
import { useCreation } from "../../ui/creation.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { DecimalField, SelectField, TextField } from "../../ui/fields.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { type FormState, within, FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { ADD_ONS, METERS } from "../../ui/sources.ts";
import { createAddOn, deleteAddOn, updateAddOn } from "./calls.ts";

const columns: Column<AddOn>[] = [
  {
    title: "Add-on",
    cell: ({ name, code, status }) => (
      <>
        {isolated(name)} {status === "archived" && <Badge>archived</Badge>}
        <div class="soft">{code}</div>
      </>
    ),
  },
  { title: "Type", cell: ({ charge }) => words(charge.type) },
  {
    title: "Price",
    is_figure: true,
    cell: ({ charge, currency }) =>
      charge.usage_tiers.length > 0
        ? "by tiers"
        : `${unitPrice(charge.price, currency)}${charge.type === "fixed" ? " a month" : charge.per === "1" ? " a unit" : ` for ${number(charge.per)}`}`,
  },
  {
    title: "Adds",
    is_minor: true,
    cell: ({ entitlements = [] }) =>
      entitlements
        .map(({ feature, limit }) => `${feature}${limit === null ? "" : `: ${number(limit)}`}`)
        .join(", ") || "–",
  },
];

/** What subscriptions may book beside their plan. */
export function AddOnsPage() {
  const query = useQuery();
  const creation = useCreation(query, "New add-on", "billing_models:write");
  const add_ons = useAnswer(ADD_ONS.from, query.input(["search"]));
  const [open, setOpen] = useState<{ kind: "rename" | "delete"; of: AddOn }>();
  const close = () => setOpen(undefined);
  const can_write = may("billing_models:write");
  const acts = (of: AddOn) => (
    <Menu label={`Acts for ${of.name}`}>
      <MenuItem onSelect={() => setOpen({ kind: "rename", of })}>Rename</MenuItem>
      <MenuItem onSelect={() => setOpen({ kind: "delete", of })}>Delete</MenuItem>
    </Menu>
  );
  return (
    <Page
      title="Add-ons"
      intro="What subscriptions may book beside their plan: seats, support, more of a limit."
      actions={creation.button}
    >
      <List
        title="All add-ons"
        label="Add-ons"
        loaded={add_ons}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Name or code" />}
        empty={
          <Empty title="No add-ons yet" action={creation.first}>
            One is booked on a subscription's own page, by days and quantity.
          </Empty>
        }
        {...(can_write && { acts })}
      />
      {creation.is_open && <NewAddOn onClose={creation.close} />}
      {open?.kind === "rename" && (
        <FormDialog
          title={`Rename ${open.of.name}`}
          onClose={close}
          schema="UpdateAddOn"
          act="Save"
          edited={edited(open.of, {
            fields: ({ name }) => ({ name }),
            read: () => readAnew(ADD_ONS.one, { id: open.of.id }),
          })}
          submit={(values, key, if_match) =>
            write(updateAddOn, { ...values, id: open.of.id }, { key, if_match })
          }
        >
          {(form) => <TextField form={form} name="name" label="Name" />}
        </FormDialog>
      )}
      {open?.kind === "delete" && (
        <Confirm
          title="Delete this add-on?"
          act="Delete add-on"
          name={open.of.name}
          onClose={close}
          run={(key) => write(deleteAddOn, { id: open.of.id }, { key })}
        >
          <p>It can no longer be booked.</p>
        </Confirm>
      )}
    </Page>
  );
}

function NewAddOn({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title="New add-on"
      onClose={onClose}
      schema="CreateAddOn"
      act="Add"
      initial={{ currency: company.value.currency, charge: { type: "fixed" } }}
      submit={(values, key) => write(createAddOn, values, { key })}
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" help={null} />
          <TextField form={form} name="code" label="Code" placeholder="seats" />
          <TextField form={form} name="currency" label="Currency" />
          <ChargeFields form={within(form, "charge")} />
        </>
      )}
    </FormDialog>
  );
}

const TYPES = [
  { value: "fixed", label: "so much a month, times the quantity that is booked" },
  { value: "per_unit", label: "so much a unit that a meter counts" },
  { value: "package", label: "so much a started package" },
];

function ChargeFields({ form }: { form: FormState }) {
  const { type } = form.values;
  const meters = useAnswer(METERS.from, type === "fixed" ? null : { page: 1, limit: 100 });
  return (
    <>
      <SelectField form={form} name="type" label="It costs" choices={TYPES} help={null} />
      <DecimalField form={form} name="price" label="Price" help={null} />
      {type !== "fixed" && (
        <>
          <SelectField
            form={form}
            name="meter_id"
            label="Counts"
            none="Choose a meter"
            is_number
            help={null}
            choices={(meters.answer?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }))}
          />
          {type === "per_unit" && (
            <DecimalField form={form} name="per" label="For so many units" help="1 unless given." />
          )}
          {type === "package" && (
            <DecimalField form={form} name="package_size" label="Units in a package" help={null} />
          )}
        </>
      )}
    </>
  );
}
