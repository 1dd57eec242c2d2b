import type { Static } from "@sinclair/typebox";
import { useState } from "preact/hooks";
import type { BillingProfile } from "../../../billing/billing_profiles/model.ts";
import type { ClientDetail } from "../../../billing/clients/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { company, may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { date } from "../../text/time.ts";
import { LastBills } from "../../ui/bills.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { DecimalField, TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { History } from "../../ui/history.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { RecordActs } from "../../ui/record_acts.tsx";
import { CLIENTS } from "../../ui/sources.ts";
import { Await, Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { deleteClient, getBillingProfile, getClient, saveBillingProfile, updateClient } from "./calls.ts";

type Detail = Static<typeof ClientDetail>;

/** One client: subscriptions, bills, and how it is billed. */
export function ClientPage({ params }: PageProps) {
  const client = useAnswer(getClient, { id: params.id });
  const record = client.answer?.data;
  return (
    <Page
      title={record?.name ?? `Client #${params.id ?? ""}`}
      above={<a href={`${BASE}/clients`}>Clients</a>}
      actions={
        <>
          <LinkButton href={`${BASE}/usage?client=${params.id ?? ""}`} icon="usage">
            Usage
          </LinkButton>
          {record && may("clients:write") && <ClientActs of={record} />}
        </>
      }
    >
      <Await of={client} rows={8}>
        {(of) => (
          <>
            <Subscriptions of={of} />
            <Section title="Last bills" actions={<a href={`${BASE}/bills?client_id=${of.id}`}>All bills</a>}>
              <LastBills of={{ client_id: of.id }} />
            </Section>
            <Profile client_id={of.id} />
            <History of="client" id={of.id} />
          </>
        )}
      </Await>
    </Page>
  );
}

function ClientActs({ of }: { of: Detail }) {
  return (
    <RecordActs
      of={of}
      noun="client"
      edit={{
        act: "Rename",
        schema: "CreateClient",
        to: updateClient,
        from: CLIENTS.one,
        values: ({ name }) => ({ name }),
        fields: (form) => <TextField form={form} name="name" label="Name" />,
      }}
      remove={{
        to: deleteClient,
        list: `${BASE}/clients`,
        effects:
          "Its users can no longer sign in. Bills and usage stay. A client with active subscriptions cannot be deleted: cancel them first.",
      }}
    />
  );
}

function Subscriptions({ of }: { of: Detail }) {
  return (
    <Section
      title="Subscriptions"
      actions={
        may("subscriptions:write") && (
          <LinkButton icon="plus" href={`${BASE}/subscriptions?client_id=${of.id}&new=1`}>
            New subscription
          </LinkButton>
        )
      }
    >
      {of.subscriptions.length === 0 ? (
        <Empty title="No subscriptions yet">
          A subscription joins a product and a price: it is what usage counts for.
        </Empty>
      ) : (
        <Table
          label="Subscriptions"
          rows={of.subscriptions}
          keyOf={({ id }) => id}
          columns={[
            {
              title: "Name",
              cell: ({ id, name, external_subscription_id }) => (
                <>
                  <a href={`${BASE}/subscriptions/${id}`}>{name}</a>
                  <div class="soft">{external_subscription_id}</div>
                </>
              ),
            },
            {
              title: "State",
              cell: ({ status }) => <Badge tone={status === "active" ? "good" : "plain"}>{status}</Badge>,
            },
            { title: "Since", cell: ({ started_at }) => <Time at={started_at} show={date} /> },
            { title: "Ends", cell: ({ ends_at }) => <Time at={ends_at} show={date} />, is_minor: true },
          ]}
        />
      )}
    </Section>
  );
}

/** Where there is no amount, a new one is in the company's currency. */
const profileFields = ({ interim_at, currency }: Pick<BillingProfile, "interim_at" | "currency">) => ({
  interim_at,
  currency: interim_at === null ? company.value.currency : currency,
});

function Profile({ client_id }: { client_id: number }) {
  const profile = useAnswer(getBillingProfile, { id: client_id });
  const [is_open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <Section
      title="How it is billed"
      actions={may("clients:write") && <Button onClick={() => setOpen(true)}>Edit</Button>}
    >
      <Await of={profile} rows={1}>
        {({ interim_at, currency }) => (
          <>
            <Facts
              of={[
                [
                  "Interim bills",
                  interim_at === null ? "none" : `when running usage has cost ${money(interim_at, currency)}`,
                ],
              ]}
            />
            {is_open && (
              <FormDialog
                title="How it is billed"
                onClose={close}
                schema="SaveBillingProfile"
                act="Save"
                edited={edited(
                  { interim_at, currency },
                  {
                    read: () => readAnew(getBillingProfile, { id: client_id }),
                    fields: profileFields,
                    is_replaced: true,
                  },
                )}
                submit={({ interim_at: amount = null, currency: in_currency }, key, if_match) =>
                  write(
                    saveBillingProfile,
                    { id: client_id, interim_at: amount, currency: in_currency },
                    { key, if_match },
                  )
                }
              >
                {(form) => (
                  <>
                    <DecimalField
                      form={form}
                      name="interim_at"
                      label="Bill usage at once when it has cost"
                      help="Left empty: usage is billed when its period ends."
                    />
                    <TextField form={form} name="currency" label="Currency" />
                  </>
                )}
              </FormDialog>
            )}
          </>
        )}
      </Await>
    </Section>
  );
}
