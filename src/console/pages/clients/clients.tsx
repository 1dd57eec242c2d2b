import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import type { ClientFigures } from "../../../billing/client_figures/model.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { count, shortNumber } from "../../text/number.ts";
import { date, period } from "../../text/time.ts";
import { Sparkline } from "../../ui/bars.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Form } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { RecordLink } from "../../ui/record_link.tsx";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { CLIENTS } from "../../ui/sources.ts";
import { createClient, listFigures } from "./calls.ts";

/** The columns of clients; `figures`: what those of the page come to, once it is known. */
const columnsWith = (figures: ReadonlyMap<number, ClientFigures>): Column<Client>[] => {
  const show = (draw: (of: ClientFigures) => ComponentChildren) => (client: Client) => {
    const of = figures.get(client.id);
    return of === undefined ? <span class="soft">…</span> : draw(of);
  };
  return [
    { title: "Name", sort: "name", cell: ({ id, name }) => <a href={`${BASE}/clients/${id}`}>{name}</a> },
    {
      title: "Running",
      is_figure: true,
      cell: show(({ running, active_subscriptions }) => (
        <>
          {running.map(({ currency, amount }) => money(amount, currency)).join(", ") || "–"}
          <div class="soft">{count(active_subscriptions, "subscription")}</div>
        </>
      )),
    },
    {
      title: "Last bill",
      is_figure: true,
      is_minor: true,
      cell: show(({ last_bill: bill }) =>
        bill === null ? (
          "–"
        ) : (
          <>
            <RecordLink kind="billing_record" id={bill.id}>
              {money(bill.totalCharges, bill.currency)}
            </RecordLink>
            <div class="soft">{period(bill.billingStartAt, bill.billingEndAt)}</div>
          </>
        ),
      ),
    },
    {
      title: "Units of 30 days",
      is_minor: true,
      cell: show(({ usage: { units } }) => <Sparkline points={units} label={trendOf(units)} />),
    },
    {
      title: "Since",
      sort: "created_at",
      is_minor: true,
      cell: ({ created_at }) => <Time at={created_at} show={date} />,
    },
  ];
};

/** What a line of days shows, in words. */
const trendOf = (units: readonly number[]) =>
  `${shortNumber(units.at(-1) ?? 0)} units today, ${shortNumber(Math.max(0, ...units))} on the most used day`;

/** Who is billed. */
export function ClientsPage() {
  const query = useQuery();
  const { route } = useLocation();
  const creation = useCreation(query, "New client", "clients:write");
  const input = query.input(["search"]);
  const clients = useAnswer(CLIENTS.from, input);
  const ids = clients.answer?.data.map(({ id }) => id).join() ?? "";
  const has_figures = may("revenue:read") && ids !== "";
  const figures = useAnswer(listFigures, has_figures ? { ids } : null);
  const columns = columnsWith(new Map(figures.answer?.data.map((of) => [of.client_id, of])));
  return (
    <Page
      title="Clients"
      intro="Companies that you bill. Each has subscriptions, bills and users of its own."
      actions={creation.button}
    >
      <List
        title="All clients"
        label="Clients"
        loaded={clients}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Name" />}
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
