import type { Product } from "../../../billing/products/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { date } from "../../text/time.ts";
import { Filters, SearchFilter } from "../../ui/filters.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import { type Column, ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { PRODUCTS } from "../../ui/sources.ts";
import { createProduct } from "./calls.ts";

const columns: Column<Product>[] = [
  { title: "Name", sort: "name", cell: ({ id, name }) => <a href={`${BASE}/products/${id}`}>{name}</a> },
  { title: "Number", sort: "id", is_figure: true, is_minor: true, cell: ({ id }) => `#${id}` },
  { title: "Since", sort: "created_at", cell: ({ created_at }) => <Time at={created_at} show={date} /> },
];

/** What is sold. */
export function ProductsPage() {
  const query = useQuery();
  const creation = useCreation(query, "New product", "products:write");
  const input = query.input(["search"]);
  const products = useAnswer(PRODUCTS.from, input);
  return (
    <Page
      title="Products"
      intro="What you sell: an API, a model, a service. Usage and revenue can be seen by product."
      actions={creation.button}
    >
      <Section title="All products">
        <Filters query={query}>
          <SearchFilter query={query} name="search" label="Name" />
        </Filters>
        <ListTable
          label="Products"
          loaded={products}
          columns={columns}
          keyOf={({ id }) => id}
          query={query}
          csv={{ to: PRODUCTS.from, input }}
          empty={
            <Empty title="No products yet" action={creation.first}>
              A subscription is of one product.
            </Empty>
          }
        />
      </Section>
      {creation.is_open && (
        <FormDialog
          title="New product"
          onClose={creation.close}
          schema="CreateProduct"
          act="Add product"
          submit={(values, key) => write(createProduct, values, { key })}
        >
          {(form) => <TextField form={form} name="name" label="Name" />}
        </FormDialog>
      )}
    </Page>
  );
}
