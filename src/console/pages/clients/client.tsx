import type { Static } from "@sinclair/typebox";
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import type { ClientDetail } from "../../../billing/clients/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { company, may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { date, period } from "../../text/time.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { DecimalField, TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { RECORD_KIND_NAMES } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await, Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { say } from "../../ui/toast.tsx";
import {
  deleteClient,
  getBillingProfile,
  getClient,
  listBills,
  saveBillingProfile,
  updateClient,
} from "./calls.ts";

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
            <Bills client_id={of.id} />
            <Profile client_id={of.id} />
          </>
        )}
      </Await>
    </Page>
  );
}

function ClientActs({ of }: { of: Detail }) {
  const { route } = useLocation();
  const [open, setOpen] = useState<"edit" | "delete">();
  const close = () => setOpen(undefined);
  return (
    <>
      <Button onClick={() => setOpen("edit")}>Rename</Button>
      <Button kind="danger" onClick={() => setOpen("delete")}>
        Delete
      </Button>
      {open === "edit" && (
        <FormDialog
          title={`Rename ${of.name}`}
          onClose={close}
          schema="CreateClient"
          act="Save"
          initial={{ name: of.name }}
          submit={(values, key) => write(updateClient, { ...values, id: of.id }, { key })}
        >
          {(form) => <TextField form={form} name="name" label="Name" />}
        </FormDialog>
      )}
      {open === "delete" && (
        <Confirm
          title="Delete this client?"
          act="Delete client"
          name={of.name}
          onClose={close}
          run={async (key) => {
            await write(deleteClient, { id: of.id }, { key });
            say(`${of.name} is deleted`);
            route(`${BASE}/clients`);
          }}
        >
          <p>
            Its users can no longer sign in. Bills and usage stay. A client with active subscriptions cannot
            be deleted: cancel them first.
          </p>
        </Confirm>
      )}
    </>
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

function Bills({ client_id }: { client_id: number }) {
  const bills = useAnswer(listBills, { client_id, page: 1, limit: 6 });
  return (
    <Section title="Last bills" actions={<a href={`${BASE}/bills?client_id=${client_id}`}>All bills</a>}>
      <Await of={bills}>
        {(records) =>
          records.length === 0 ? (
            <p class="soft">None yet.</p>
          ) : (
            <Table
              label="Last bills"
              rows={records}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Bill",
                  cell: ({ id, kind }) => (
                    <>
                      <a href={`${BASE}/bills/${id}`}>#{id}</a>{" "}
                      {kind !== "period" && <Badge>{RECORD_KIND_NAMES[kind]}</Badge>}
                    </>
                  ),
                },
                {
                  title: "Period",
                  cell: ({ billingStartAt, billingEndAt }) => period(billingStartAt, billingEndAt),
                },
                {
                  title: "Amount",
                  is_figure: true,
                  cell: ({ totalCharges, currency }) => money(totalCharges, currency),
                },
              ]}
            />
          )
        }
      </Await>
    </Section>
  );
}

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
                initial={{ interim_at, currency: interim_at === null ? company.value.currency : currency }}
                submit={({ interim_at: amount = null, currency: in_currency }, key) =>
                  write(
                    saveBillingProfile,
                    { id: client_id, interim_at: amount, currency: in_currency },
                    { key },
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
