import type { BillingModel } from "../../../billing/billing_models/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { number } from "../../text/number.ts";
import { LinkButton } from "../../ui/button.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { List } from "../../ui/list.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { BILLING_MODELS } from "../../ui/sources.ts";
import { priceText } from "./price_text.ts";

const columns: Column<BillingModel>[] = [
  {
    title: "Name",
    cell: ({ id, name, description, status }) => (
      <>
        <a href={`${BASE}/billing-models/${id}`}>{name}</a> {status === "archived" && <Badge>archived</Badge>}
        {description !== "" && <div class="soft">{description}</div>}
      </>
    ),
  },
  {
    title: "Type",
    cell: ({ billing_type, purpose }) => (
      <>
        <Badge>{words(billing_type)}</Badge> {purpose === "cost" && <Badge tone="warn">cost</Badge>}
      </>
    ),
  },
  { title: "Price", cell: priceText },
  { title: "Charges", is_figure: true, is_minor: true, cell: ({ charges = [] }) => number(charges.length) },
  { title: "Price book", is_minor: true, cell: ({ plan_code }) => plan_code ?? "–" },
];

/** What things cost. */
export function BillingModelsPage() {
  const query = useQuery();
  const { page = "1", search, plan_code } = query.values;
  const models = useAnswer(BILLING_MODELS.from, { search, plan_code, page, limit: 20 });
  const new_button = may("billing_models:write") && (
    <LinkButton kind="primary" icon="plus" href={`${BASE}/billing-models/new`}>
      New billing model
    </LinkButton>
  );
  return (
    <Page
      title="Billing models"
      intro="Prices that subscriptions take: flat, per unit, by tiers, in packages, with credits, and charges by meters beside."
      actions={new_button}
    >
      <List
        title="All billing models"
        label="Billing models"
        loaded={models}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Name" />}
        empty={
          <Empty title="No billing models yet" action={new_button}>
            A billing model says what a subscription's month costs. It can be tried before it is saved.
          </Empty>
        }
      />
    </Page>
  );
}
