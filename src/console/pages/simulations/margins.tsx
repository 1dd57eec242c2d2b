import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { money } from "../../text/money.ts";
import { Money } from "../../ui/bill_lines.tsx";
import { DateFilter, Filters, SelectFilter } from "../../ui/filters.tsx";
import { words } from "../../ui/names.ts";
import { Figure, Page, Section } from "../../ui/page.tsx";
import { PickFilter } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import { Pager, Table } from "../../ui/table.tsx";
import { BILLING_MODELS } from "../../ui/sources.ts";
import { getMargins } from "./calls.ts";

const PATHS: Record<string, string> = { client: "/clients", product: "/products" };

/** What was billed, less what its usage cost. */
export function MarginsPage() {
  const query = useQuery();
  const { cost_model_id, from, to, group_by = "client", page = "1" } = query.values;
  const is_asked = cost_model_id !== undefined && from !== undefined && to !== undefined;
  const margins = useAnswer(
    getMargins,
    is_asked ? { cost_model_id, from, to, group_by, page, limit: 20 } : null,
  );
  return (
    <Page
      title="Margins"
      intro="What was billed in some months, less what its usage cost by a model of costs."
    >
      <Filters query={query}>
        <PickFilter query={query} name="cost_model_id" label="Cost model" source={BILLING_MODELS} />
        <DateFilter query={query} name="from" label="From" kind="month" />
        <DateFilter query={query} name="to" label="To" kind="month" />
        <SelectFilter
          query={query}
          name="group_by"
          label="By"
          any="client"
          choices={[
            { value: "product", label: "product" },
            { value: "charge", label: "charge" },
          ]}
        />
      </Filters>
      {!is_asked ? (
        <Empty title="Choose a cost model and months">
          A billing model whose purpose is “what usage costs the company” says costs. Simulate it over the
          same months first: margins are of that <a href={`${BASE}/simulations`}>simulation</a>.
        </Empty>
      ) : (
        <Await of={margins}>
          {({ totals, currency, rows, groups, stale, simulation_id }) => (
            <>
              {stale.length > 0 && (
                <div class="notice warn">
                  <p>
                    Its <a href={`${BASE}/simulations/${simulation_id}`}>simulation</a> is out of date:{" "}
                    {stale.map(words).join(", ")}. A new one may come to other margins.
                  </p>
                </div>
              )}
              <div class="figures-row">
                <Figure label="Billed" value={money(totals.revenue, currency)} />
                <Figure label="Cost" value={money(totals.cost, currency)} />
                <Figure label="Margin" value={<Money of={totals.margin} currency={currency} />} />
              </div>
              <Section title={`By ${group_by}, the smallest margin first`}>
                <Table
                  label="Margins"
                  rows={rows}
                  keyOf={({ id, name }) => id ?? name}
                  columns={[
                    {
                      title: words(group_by),
                      cell: ({ id, name }) =>
                        id === null ? (
                          words(name)
                        ) : (
                          <a href={`${BASE}${PATHS[group_by] ?? ""}/${id}`}>{name}</a>
                        ),
                    },
                    { title: "Billed", is_figure: true, cell: ({ revenue }) => money(revenue, currency) },
                    { title: "Cost", is_figure: true, cell: ({ cost }) => money(cost, currency) },
                    {
                      title: "Margin",
                      is_figure: true,
                      cell: ({ margin }) => <Money of={margin} currency={currency} />,
                    },
                  ]}
                />
                <div class="table-foot">
                  <Pager
                    meta={{
                      page: Number(page),
                      limit: 20,
                      total: groups,
                      total_pages: Math.ceil(groups / 20),
                    }}
                    query={query}
                  />
                </div>
              </Section>
            </>
          )}
        </Await>
      )}
    </Page>
  );
}
