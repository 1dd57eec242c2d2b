import type { Product } from "../../../billing/products/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { History } from "../../ui/history.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { RecordActs } from "../../ui/record_acts.tsx";
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
      {record && <History of="product" id={record.id} />}
    </Page>
  );
}

function ProductActs({ of }: { of: Product }) {
  return (
    <RecordActs
      of={of}
      noun="product"
      edit={{
        act: "Rename",
        schema: "CreateProduct",
        to: updateProduct,
        from: PRODUCTS.one,
        values: ({ name }) => ({ name }),
        fields: (form) => <TextField form={form} name="name" label="Name" />,
      }}
      remove={{
        to: deleteProduct,
        list: `${BASE}/products`,
        effects: "Usage and bills stay. A product with active subscriptions cannot be deleted.",
      }}
    />
  );
}
