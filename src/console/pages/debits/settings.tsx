import { Fragment } from "preact";
import { useState } from "preact/hooks";
import type { EmandateCustomer } from "../../../emandate/customers/model.ts";
import type { EmandateProduct } from "../../../emandate/products/model.ts";
import type { MerchantConfig } from "../../../emandate/merchant_config/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { isolated } from "../../text/isolated.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { calendarDay } from "../../text/time.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { Breakable } from "../../ui/breakable.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import {
  CheckField,
  DecimalField,
  NumberField,
  SelectField,
  TagsField,
  TextAreaField,
  TextField,
} from "../../ui/fields.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { Form, FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { say } from "../../ui/toast.tsx";
import {
  createProduct,
  deleteProduct,
  getConfig,
  listCustomers,
  listProducts,
  PRODUCTS,
  updateConfig,
  updateProduct,
} from "./calls.ts";
import { FREQUENCIES } from "./mandates.tsx";

/** Products, customers, and the account with the scheme. */
export function DebitSettingsPage() {
  return (
    <Page title="Set-up" intro="Templates of mandates, customers, and the account with the scheme.">
      <AreaTabs at="/debits/settings" />
      <Products />
      <Customers />
      <Configuration />
    </Page>
  );
}

function Products() {
  const products = useAnswer(listProducts, { page: 1, limit: 50 });
  const [open, setOpen] = useState<{ kind: "edit" | "delete"; of?: EmandateProduct }>();
  const close = () => setOpen(undefined);
  const can_write = may("emandate:write");
  const acts = (of: EmandateProduct) => (
    <Menu label={`Acts for ${of.product_name}`}>
      <MenuItem onSelect={() => setOpen({ kind: "edit", of })}>Edit</MenuItem>
      <MenuItem onSelect={() => setOpen({ kind: "delete", of })}>Delete</MenuItem>
    </Menu>
  );
  return (
    <Section
      title="Products"
      actions={
        can_write && (
          <Button icon="plus" onClick={() => setOpen({ kind: "edit" })}>
            New product
          </Button>
        )
      }
    >
      <Await of={products}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">
              None yet. A product gives mandates their largest amount and how often they may be debited.
            </p>
          ) : (
            <Table
              label="Products"
              rows={rows}
              keyOf={({ id }) => id}
              {...(can_write && { acts })}
              columns={[
                {
                  title: "Product",
                  cell: ({ product_name, product_code, is_active }) => (
                    <>
                      {isolated(product_name)} {!is_active && <Badge>inactive</Badge>}
                      <div class="soft">{product_code}</div>
                    </>
                  ),
                },
                { title: "At most", is_figure: true, cell: ({ max_amount }) => money(max_amount, "MYR") },
                {
                  title: "How often",
                  cell: ({ frequency, max_no_debit }) => `${frequency}, ${number(max_no_debit)} a period`,
                },
              ]}
            />
          )
        }
      </Await>
      {open?.kind === "edit" && <ProductDialog {...(open.of && { of: open.of })} onClose={close} />}
      {open?.kind === "delete" && open.of && (
        <Confirm
          title="Delete this product?"
          act="Delete product"
          name={open.of.product_name}
          onClose={close}
          run={(key) => write(deleteProduct, { id: open.of?.id }, { key })}
        >
          <p>Mandates that were made from it stay.</p>
        </Confirm>
      )}
    </Section>
  );
}

const productFields = ({
  product_code,
  product_name,
  max_amount,
  max_no_debit,
  frequency,
  is_active,
}: EmandateProduct) => ({ product_code, product_name, max_amount, max_no_debit, frequency, is_active });

const configFields = (of: MerchantConfig) => ({
  connector: of.connector,
  exchange_id: of.exchange_id,
  seller_id: of.seller_id,
  callback_url: of.callback_url,
  return_url: of.return_url,
  max_retries: of.max_retries,
  retry_interval_days: of.retry_interval_days,
  suspend_after_failures: of.suspend_after_failures,
  auto_collect: of.auto_collect,
  holidays: of.holidays,
});

function ProductDialog({ of, onClose }: { of?: EmandateProduct; onClose: () => void }) {
  return (
    <FormDialog
      title={of === undefined ? "New product" : `Edit ${of.product_name}`}
      onClose={onClose}
      schema={of === undefined ? "CreateEmandateProduct" : "EmandateProductChange"}
      act="Save"
      {...(of === undefined
        ? { initial: { frequency: "Monthly", max_no_debit: "1" } }
        : {
            edited: edited(of, {
              fields: productFields,
              read: () => readAnew(PRODUCTS.one, { id: of.id }),
              is_replaced: true,
            }),
          })}
      submit={(values, key, if_match) =>
        of === undefined
          ? write(createProduct, values, { key })
          : write(updateProduct, { ...values, id: of.id }, { key, if_match })
      }
    >
      {(form) => (
        <>
          <TextField form={form} name="product_name" label="Name" help={null} />
          <TextField form={form} name="product_code" label="Code" />
          <DecimalField form={form} name="max_amount" label="At most" unit="MYR" help={null} />
          <div class="field-row">
            <SelectField form={form} name="frequency" label="How often" choices={FREQUENCIES} help={null} />
            <TextField form={form} name="max_no_debit" label="Debits in such a period" help={null} />
          </div>
          {of !== undefined && <CheckField form={form} name="is_active" label="Offered for new mandates" />}
        </>
      )}
    </FormDialog>
  );
}

const customerColumns: Column<EmandateCustomer>[] = [
  {
    title: "Name",
    cell: ({ id, name }) => <a href={`${BASE}/debits/mandates?customer_id=${id}`}>{name}</a>,
  },
  { title: "Email", cell: ({ email }) => <Breakable of={email} /> },
  { title: "IC number", is_minor: true, cell: ({ ic_number }) => ic_number ?? "–" },
  {
    title: "Mandates",
    is_figure: true,
    cell: ({ mandate_count, active_mandate_count }) =>
      `${number(active_mandate_count)} of ${number(mandate_count)} active`,
  },
];

function Customers() {
  const query = useQuery();
  const customers = useAnswer(listCustomers, query.input(["search"]));
  return (
    <List
      title="Customers"
      label="Customers"
      loaded={customers}
      columns={customerColumns}
      query={query}
      filters={<SearchFilter query={query} name="search" label="Name or email" />}
      empty={<Empty title="No customers yet">Each comes with its first mandate.</Empty>}
    />
  );
}

function Configuration() {
  const config = useAnswer(getConfig);
  const [is_open, setOpen] = useState(false);
  return (
    <Section
      title="Account with the scheme"
      actions={may("emandate_config:write") && <Button onClick={() => setOpen(true)}>Edit</Button>}
    >
      <Await of={config}>
        {(of) => (
          <>
            <Facts
              of={[
                [
                  "Connector",
                  of.connector === "sandbox" ? (
                    <Badge tone="warn">sandbox: no money moves</Badge>
                  ) : (
                    of.connector
                  ),
                ],
                ["Exchange", of.exchange_id],
                ["Seller", of.seller_id],
                ["Key", of.has_private_key ? "set" : "none"],
                ["Certificate until", <Time at={of.certificate_expires_at} />],
                [
                  "Retries",
                  of.max_retries === 0
                    ? "none"
                    : `${number(of.max_retries)}, ${count(of.retry_interval_days, "day")} apart`,
                ],
                ["Suspended after", count(of.suspend_after_failures, "failure")],
                ["Collected by itself", of.auto_collect ? "yes" : "no"],
                ["Holidays", of.holidays.length === 0 ? "none" : <Days of={of.holidays} />],
              ]}
            />
            {is_open && <ConfigurationDialog of={of} onClose={() => setOpen(false)} />}
          </>
        )}
      </Await>
    </Section>
  );
}

/** Days of the calendar, none of which breaks. */
function Days({ of }: { of: readonly string[] }) {
  return (
    <>
      {of.map((day, i) => (
        <Fragment key={day}>
          {i > 0 && " "}
          <span class="whole">
            {calendarDay(day)}
            {i < of.length - 1 && ","}
          </span>
        </Fragment>
      ))}
    </>
  );
}

function ConfigurationDialog({ of, onClose }: { of: MerchantConfig; onClose: () => void }) {
  return (
    <Dialog title="Account with the scheme" onClose={onClose}>
      <Form
        schema="UpdateEmandateConfig"
        act="Save"
        edited={edited(of, { fields: configFields, read: () => readAnew(getConfig) })}
        onCancel={onClose}
        onDone={() => {
          say("Saved");
          onClose();
        }}
        submit={(values, key, if_match) => write(updateConfig, values, { key, if_match })}
        effects={({ connector }) =>
          connector !== of.connector &&
          connector !== "sandbox" && (
            <div class="notice bad" role="status">
              <p>With this connector new mandates and debits are real.</p>
            </div>
          )
        }
      >
        {(form) => (
          <>
            <SelectField
              form={form}
              name="connector"
              label="Connector"
              help={null}
              choices={[
                { value: "sandbox", label: "sandbox: no money moves" },
                { value: "fpx", label: "fpx: the real scheme" },
              ]}
            />
            <div class="field-row">
              <TextField form={form} name="exchange_id" label="Exchange" />
              <TextField form={form} name="seller_id" label="Seller" />
            </div>
            <TextAreaField
              form={form}
              name="private_key_pem"
              label="Private key (PEM)"
              help="Left empty: it stays."
            />
            <TextAreaField
              form={form}
              name="scheme_certificate_pem"
              label="The scheme's certificate (PEM)"
              help="Left empty: it stays."
            />
            <TextField form={form} name="callback_url" label="Callback address" type="url" />
            <TextField form={form} name="return_url" label="Address to return to" type="url" />
            <div class="field-row">
              <NumberField form={form} name="max_retries" label="Retries" />
              <NumberField form={form} name="retry_interval_days" label="Days between" />
              <NumberField form={form} name="suspend_after_failures" label="Suspend after failures" />
            </div>
            <CheckField form={form} name="auto_collect" label="Collect what is due by itself" help={null} />
            <TagsField
              form={form}
              name="holidays"
              label="Holidays"
              help="Days such as 2026-12-25. Enter adds one."
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
