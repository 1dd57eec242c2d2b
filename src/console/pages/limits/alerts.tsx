import { useState } from "preact/hooks";
import type { Alert } from "../../../entitlements/alerts/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { isolated } from "../../text/isolated.ts";
import { money } from "../../text/money.ts";
import { count, number, percent } from "../../text/number.ts";
import { useCreation } from "../../ui/creation.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { SelectField, TagsField, TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Badge, Page } from "../../ui/page.tsx";
import { PickField } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { METERS } from "../../ui/sources.ts";
import { createAlert, deleteAlert, getAlert, listAlerts, listFeatures, updateAlert } from "./calls.ts";

const KINDS = [
  { value: "usage", label: "usage: units of the billing period" },
  { value: "spend", label: "spend: its running charges" },
  { value: "forecast", label: "forecast: what these come to if usage goes on" },
  { value: "limit", label: "limit: percents of a feature's limits" },
];

/** A threshold in words. */
export function thresholdText({ on, currency }: Pick<Alert, "on" | "currency">, threshold: string): string {
  if (on === "limit") return percent(threshold);
  if (on === "usage") return count(Number(threshold), "unit");
  return currency === null ? number(threshold) : money(threshold, currency);
}

/** Of which subscriptions it is, in words. */
export const scopeText = ({ scope }: Alert) => {
  const named = [
    ["client", scope.client_ids],
    ["product", scope.product_ids],
    ["billing model", scope.billing_model_ids],
    ["subscription", scope.subscription_ids],
  ] as const;
  return (
    named.flatMap(([one, ids]) => (ids === undefined ? [] : [count(ids.length, one)])).join(", ") ||
    "all subscriptions"
  );
};

const columns: Column<Alert>[] = [
  { title: "Alert", cell: ({ id, name }) => <a href={`${BASE}/alerts/${id}`}>{name}</a> },
  {
    title: "On",
    cell: ({ on, feature }) => (
      <>
        <Badge>{on}</Badge> {feature}
      </>
    ),
  },
  {
    title: "At",
    cell: (alert) => alert.thresholds.map((threshold) => thresholdText(alert, threshold)).join(", "),
  },
  { title: "Of", is_minor: true, cell: scopeText },
];

/** What somebody wants to be told of. */
export function AlertsPage() {
  const query = useQuery();
  const creation = useCreation(query, "New alert", "entitlements:write");
  const alerts = useAnswer(listAlerts, query.input([]));
  const [deleting, setDeleting] = useState<Alert>();
  const [editing, setEditing] = useState<Alert>();
  const can_write = may("entitlements:write");
  const acts = (of: Alert) => (
    <Menu label={`Acts for ${of.name}`}>
      <MenuItem onSelect={() => setEditing(of)}>Edit</MenuItem>
      <MenuItem onSelect={() => setDeleting(of)}>Delete</MenuItem>
    </Menu>
  );
  return (
    <Page
      title="Alerts"
      intro="Thresholds on usage, running charges, their forecast or a share of limits. Each is told once a window, by the event alert.reached, within seconds."
      actions={creation.button}
    >
      <List
        title="All alerts"
        label="Alerts"
        loaded={alerts}
        columns={columns}
        query={query}
        empty={
          <Empty title="No alerts yet" action={creation.first}>
            Webhooks carry them to your programs.
          </Empty>
        }
        {...(can_write && { acts })}
      />
      {creation.is_open && <NewAlert onClose={creation.close} />}
      {editing && (
        <FormDialog
          title={`Edit ${editing.name}`}
          onClose={() => setEditing(undefined)}
          schema="UpdateAlert"
          act="Save"
          edited={edited(editing, {
            fields: ({ name, thresholds }) => ({ name, thresholds }),
            read: () => readAnew(getAlert, { id: editing.id }),
          })}
          submit={(values, key, if_match) =>
            write(updateAlert, { ...values, id: editing.id }, { key, if_match })
          }
        >
          {(form) => (
            <>
              <TextField form={form} name="name" label="Name" help={null} />
              <TagsField form={form} name="thresholds" label="Thresholds" help="Ascending. Enter adds one." />
            </>
          )}
        </FormDialog>
      )}
      {deleting && (
        <Confirm
          title="Delete this alert?"
          act="Delete alert"
          onClose={() => setDeleting(undefined)}
          run={(key) => write(deleteAlert, { id: deleting.id }, { key })}
        >
          <p>{isolated(deleting.name)} tells nothing any more.</p>
        </Confirm>
      )}
    </Page>
  );
}

function NewAlert({ onClose }: { onClose: () => void }) {
  const features = useAnswer(listFeatures, { page: 1, limit: 100 });
  return (
    <FormDialog
      title="New alert"
      onClose={onClose}
      schema="CreateAlert"
      act="Add alert"
      initial={{ on: "spend", thresholds: [] }}
      submit={(values, key) => write(createAlert, values, { key })}
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" help={null} />
          <SelectField form={form} name="on" label="On" choices={KINDS} help={null} />
          {form.values.on === "limit" && (
            <SelectField
              form={form}
              name="feature"
              label="Feature"
              help={null}
              none="Choose a feature"
              choices={(features.answer?.data ?? []).map(({ code, name }) => ({
                value: code,
                label: name,
              }))}
            />
          )}
          {form.values.on === "usage" && (
            <PickField
              form={form}
              name="meter_id"
              label="Counts by"
              source={METERS}
              help="Left empty: all usage."
            />
          )}
          {(form.values.on === "spend" || form.values.on === "forecast") && (
            <TextField
              form={form}
              name="currency"
              label="Currency"
              help="Left empty: each subscription in its own."
            />
          )}
          <TagsField
            form={form}
            name="thresholds"
            label="Thresholds"
            help="Ascending. Enter adds one."
            placeholder="80"
          />
        </>
      )}
    </FormDialog>
  );
}
