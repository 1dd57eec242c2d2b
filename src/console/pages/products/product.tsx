import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import type { Product } from "../../../billing/products/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { PRODUCTS, SUBSCRIPTIONS } from "../../ui/sources.ts";
import { deleteProduct, updateProduct } from "./calls.ts";

/** One product and who takes it. */
export function ProductPage({ params }: PageProps) {
  const product = useAnswer(PRODUCTS.one, { id: params.id });
  const subscriptions = useAnswer(SUBSCRIPTIONS.from, { product_id: params.id, page: 1, limit: 20 });
  const record = product.answer?.data;
  return (
    <Page
      title={record?.name ?? `Product #${params.id ?? ""}`}
      above={<a href={`${BASE}/products`}>Products</a>}
      actions={
        <>
          <LinkButton href={`${BASE}/usage?product=${params.id ?? ""}`} icon="usage">
            Usage
          </LinkButton>
          {record && may("products:write") && <ProductActs of={record} />}
        </>
      }
    >
      <Await of={product} rows={2}>
        {(of) => (
          <Section title="About">
            <Facts
              of={[
                ["Number", `#${of.id}`],
                ["Since", <Time at={of.created_at} />],
              ]}
            />
          </Section>
        )}
      </Await>
      <Section
        title="Subscriptions"
        actions={<a href={`${BASE}/subscriptions?product_id=${params.id ?? ""}`}>All of them</a>}
      >
        <Await of={subscriptions}>
          {(rows) =>
            rows.length === 0 ? (
              <p class="soft">None yet.</p>
            ) : (
              <Table
                label="Subscriptions"
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  {
                    title: "Name",
                    cell: ({ id, name }) => <a href={`${BASE}/subscriptions/${id}`}>{name}</a>,
                  },
                  {
                    title: "Client",
                    cell: ({ client }) => <a href={`${BASE}/clients/${client.id}`}>{client.name}</a>,
                  },
                  {
                    title: "State",
                    cell: ({ status }) => (
                      <Badge tone={status === "active" ? "good" : "plain"}>{status}</Badge>
                    ),
                  },
                ]}
              />
            )
          }
        </Await>
      </Section>
    </Page>
  );
}

function ProductActs({ of }: { of: Product }) {
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
          schema="CreateProduct"
          act="Save"
          initial={{ name: of.name }}
          submit={(values, key) => write(updateProduct, { ...values, id: of.id }, { key })}
        >
          {(form) => <TextField form={form} name="name" label="Name" />}
        </FormDialog>
      )}
      {open === "delete" && (
        <Confirm
          title="Delete this product?"
          act="Delete product"
          name={of.name}
          onClose={close}
          run={async (key) => {
            await write(deleteProduct, { id: of.id }, { key });
            route(`${BASE}/products`);
          }}
        >
          <p>Usage and bills stay. A product with active subscriptions cannot be deleted.</p>
        </Confirm>
      )}
    </>
  );
}
