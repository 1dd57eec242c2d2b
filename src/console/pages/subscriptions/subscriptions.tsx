import { useLocation } from "preact-iso";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { count } from "../../text/number.ts";
import { date } from "../../text/time.ts";
import { company } from "../../app/session.ts";
import { useCreation } from "../../ui/creation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SearchFilter, SelectFilter } from "../../ui/filters.tsx";
import { NumberField, TextField, TimeField } from "../../ui/fields.tsx";
import { Form, type FormState } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Badge, Page } from "../../ui/page.tsx";
import { PickField, PickFilter } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { say } from "../../ui/toast.tsx";
import { BILLING_MODELS, CLIENTS, PRODUCTS, SUBSCRIPTIONS } from "../../ui/sources.ts";
import { createSubscription } from "./calls.ts";

const columns: Column<SubscriptionDetail>[] = [
  {
    title: "Subscription",
    sort: "name",
    cell: ({ id, name, external_subscription_id }) => (
      <>
        <a href={`${BASE}/subscriptions/${id}`}>{name}</a>
        <div class="soft">{external_subscription_id}</div>
      </>
    ),
  },
  { title: "Client", cell: ({ client }) => <a href={`${BASE}/clients/${client.id}`}>{client.name}</a> },
  { title: "Product", cell: ({ product }) => product.name, is_minor: true },
  {
    title: "Billing model",
    is_minor: true,
    cell: ({ billing_model }) => (
      <a href={`${BASE}/billing-models/${billing_model.id}`}>{billing_model.name}</a>
    ),
  },
  {
    title: "State",
    cell: ({ status, ends_at }) => (
      <>
        <Badge tone={status === "active" ? "good" : "plain"}>{status}</Badge>
        {ends_at !== null && (
          <div class="soft">
            ends <Time at={ends_at} show={date} />
          </div>
        )}
      </>
    ),
  },
  {
    title: "Since",
    sort: "started_at",
    is_minor: true,
    cell: ({ started_at }) => <Time at={started_at} show={date} />,
  },
];

/** Who takes which product at which price. */
export function SubscriptionsPage() {
  const query = useQuery();
  const creation = useCreation(query, "New subscription", "subscriptions:write");
  const input = query.input(["search", "status", "client_id", "product_id"]);
  const subscriptions = useAnswer(SUBSCRIPTIONS.from, input);
  return (
    <Page
      title="Subscriptions"
      intro="A client takes a product at a price. Usage is sent for a subscription, and billed by it."
      actions={creation.button}
    >
      <List
        title="All subscriptions"
        label="Subscriptions"
        loaded={subscriptions}
        columns={columns}
        query={query}
        filters={
          <>
            <SearchFilter query={query} name="search" label="Name or external id" />
            <PickFilter query={query} name="client_id" label="Client" source={CLIENTS} />
            <PickFilter query={query} name="product_id" label="Product" source={PRODUCTS} />
            <SelectFilter
              query={query}
              name="status"
              label="State"
              choices={[
                { value: "active", label: "active" },
                { value: "cancelled", label: "cancelled" },
              ]}
            />
          </>
        }
        csv={{ to: SUBSCRIPTIONS.from, input }}
        empty={
          <Empty
            title="No subscriptions yet"
            action={creation.first}
            curl={`curl ${location.origin}/api/v1/subscriptions -H "Authorization: Bearer $TOKEN" \\\n  -H "Content-Type: application/json" \\\n  -d '{"name": "Acme, production", "external_subscription_id": "acme-api", "product_id": 1, "client_id": 1, "billing_model_id": 1}'`}
          >
            It needs a client, a product and a billing model.
          </Empty>
        }
      />
      {creation.is_open && <NewSubscription client_id={query.values.client_id} onClose={creation.close} />}
    </Page>
  );
}

function NewSubscription({ client_id, onClose }: { client_id: string | undefined; onClose: () => void }) {
  const { route } = useLocation();
  return (
    <Dialog title="New subscription" onClose={onClose}>
      <Form
        schema="CreateSubscription"
        act="Start subscription"
        initial={client_id === undefined ? {} : { client_id: Number(client_id) }}
        onCancel={onClose}
        submit={async (values, key) => {
          const { data } = await write(createSubscription, values, { key });
          if (data.past_periods > 0) say(`${count(data.past_periods, "past period")} will be billed`);
          route(`${BASE}/subscriptions/${data.id}`);
        }}
      >
        {(form) => <NewFields form={form} />}
      </Form>
    </Dialog>
  );
}

function NewFields({ form }: { form: FormState }) {
  return (
    <>
      <TextField form={form} name="name" label="Name" />
      <TextField
        form={form}
        name="external_subscription_id"
        label="Your own id for it"
        help="Usage events name the subscription by it."
      />
      <PickField form={form} name="client_id" label="Client" source={CLIENTS} />
      <PickField form={form} name="product_id" label="Product" source={PRODUCTS} />
      <PickField form={form} name="billing_model_id" label="Billing model" source={BILLING_MODELS} />
      <div class="field-row">
        <TimeField
          form={form}
          name="started_at"
          label="Starts"
          help={`In ${company.value.timezone}; left empty: now.`}
        />
        <NumberField
          form={form}
          name="billing_anchor_day"
          label="Billed from day"
          help="Of the month; 1 unless given."
        />
        <NumberField
          form={form}
          name="trial_days"
          label="Trial days"
          help="In place of the billing model's."
        />
      </div>
    </>
  );
}
