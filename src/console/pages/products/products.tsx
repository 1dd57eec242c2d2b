import type { Product } from "../../../billing/products/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { date } from "../../text/time.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Filters, SearchFilter } from "../../ui/filters.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Form } from "../../ui/form.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { useNew, useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import { type Column, ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { createProduct, listProducts } from "./calls.ts";

const columns: Column<Product>[] = [
  { title: "Name", sort: "name", cell: ({ id, name }) => <a href={`${BASE}/products/${id}`}>{name}</a> },
  { title: "Number", sort: "id", is_figure: true, is_minor: true, cell: ({ id }) => `#${id}` },
  { title: "Since", sort: "created_at", cell: ({ created_at }) => <Time at={created_at} show={date} /> },
];

/** What is sold. */
export function ProductsPage() {
  const query = useQuery();
  const creation = useNew(query);
  const input = query.input(["search"]);
  const products = useAnswer(listProducts, input);
  return (
    <Page
      title="Products"
      intro="What you sell: an API, a model, a service. Usage and revenue can be seen by product."
      actions={
        may("products:write") && (
          <Button kind="primary" icon="plus" data-new onClick={creation.open}>
            New product
          </Button>
        )
      }
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
          csv={{ to: listProducts, input }}
          empty={
            <Empty
              title="No products yet"
              action={may("products:write") && <Button onClick={creation.open}>New product</Button>}
            >
              A subscription is of one product.
            </Empty>
          }
        />
      </Section>
      {creation.is_open && (
        <Dialog title="New product" onClose={creation.close}>
          <Form
            schema="CreateProduct"
            act="Add product"
            onCancel={creation.close}
            onDone={creation.close}
            submit={(values, key) => write(createProduct, values, { key })}
          >
            {(form) => <TextField form={form} name="name" label="Name" />}
          </Form>
        </Dialog>
      )}
    </Page>
  );
}
