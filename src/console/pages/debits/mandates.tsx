import { useLocation } from "preact-iso";
import type { Mandate } from "../../../emandate/mandates/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { money } from "../../text/money.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { DecimalField, SelectField, TextField } from "../../ui/fields.tsx";
import { SearchFilter, SelectFilter } from "../../ui/filters.tsx";
import { Form } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { PickField } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { createMandate, listMandates, PRODUCTS } from "./calls.ts";
import { MANDATE_TONES } from "./tones.ts";

const STATES = Object.keys(MANDATE_TONES).map((value) => ({ value, label: words(value) }));
export const FREQUENCIES = ["Daily", "Weekly", "Monthly", "Yearly"].map((value) => ({ value, label: value }));

const columns: Column<Mandate>[] = [
  {
    title: "Mandate",
    cell: ({ id, reference, customer }) => (
      <>
        <a href={`${BASE}/debits/mandates/${id}`}>{customer.name}</a>
        <div class="soft">{reference}</div>
      </>
    ),
  },
  { title: "State", cell: ({ status }) => <Badge tone={MANDATE_TONES[status]}>{words(status)}</Badge> },
  { title: "At most", is_figure: true, cell: ({ max_amount, currency }) => money(max_amount, currency) },
  { title: "How often", is_minor: true, cell: ({ frequency }) => frequency },
  { title: "Bank", is_minor: true, cell: ({ bank_code }) => bank_code ?? "–" },
  { title: "Next debit", cell: ({ next_collection_at }) => <Time at={next_collection_at} /> },
];

/** Permissions of customers' banks to debit them. */
export function MandatesPage() {
  const query = useQuery();
  const creation = useCreation(query, "New mandate", "emandate:write");
  const mandates = useAnswer(listMandates, query.input(["search", "status", "customer_id"]));
  return (
    <Page
      title="Mandates"
      intro="A bank's permission to debit a customer. What is due is collected every 15 minutes, each period once."
      actions={creation.button}
    >
      <AreaTabs at="/debits/mandates" />
      <List
        title={query.values.customer_id === undefined ? "All mandates" : "Mandates of one customer"}
        label="Mandates"
        loaded={mandates}
        columns={columns}
        query={query}
        filters={
          <>
            <SearchFilter query={query} name="search" label="Name, email or reference" />
            <SelectFilter query={query} name="status" label="State" choices={STATES} />
          </>
        }
        empty={
          <Empty title="No mandates yet" action={creation.first}>
            The customer authorises it once, at the bank's own page.
          </Empty>
        }
      />
      {creation.is_open && <NewMandate onClose={creation.close} />}
    </Page>
  );
}

function NewMandate({ onClose }: { onClose: () => void }) {
  const { route } = useLocation();
  return (
    <Dialog title="New mandate" onClose={onClose}>
      <Form
        schema="CreateMandate"
        act="Make mandate"
        onCancel={onClose}
        submit={async (values, key) => {
          const { data } = await write(createMandate, values, { key });
          route(`${BASE}/debits/mandates/${data.id}`);
        }}
      >
        {(form) => (
          <>
            <TextField form={form} name="customer_name" label="Customer's name" help={null} />
            <TextField form={form} name="customer_email" label="Email" type="email" help={null} />
            <div class="field-row">
              <TextField form={form} name="customer_phone" label="Phone" help={null} />
              <TextField form={form} name="customer_ic_number" label="IC number" help={null} />
            </div>
            <PickField
              form={form}
              name="emandate_product_id"
              label="Product"
              source={PRODUCTS}
              help="Gives the largest amount and how often."
            />
            <div class="field-row">
              <DecimalField
                form={form}
                name="bankscheme_txn_amount"
                label="Amount"
                unit="MYR"
                help="That is debited each time; left empty: by hand."
              />
              <SelectField
                form={form}
                name="frequency"
                label="How often"
                none="as the product"
                choices={FREQUENCIES}
                help={null}
              />
            </div>
          </>
        )}
      </Form>
    </Dialog>
  );
}
