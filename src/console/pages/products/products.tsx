import type { Product } from "../../../billing/products/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { date } from "../../text/time.ts";
import { SearchFilter } from "../../ui/filters.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
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
      <List
        title="All products"
        label="Products"
        loaded={products}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Name" />}
        csv={{ to: PRODUCTS.from, input }}
        empty={
          <Empty title="No products yet" action={creation.first}>
            A subscription is of one product.
          </Empty>
        }
      />
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
