import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { Bars } from "../../ui/bars.tsx";
import { Filters, SelectFilter } from "../../ui/filters.tsx";
import { Figure, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import { Pager } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { getRunningBills } from "./calls.ts";

const PATHS: Record<string, string> = {
  client: "/clients",
  product: "/products",
  subscription: "/subscriptions",
};

/** What running periods come to so far. */
export function RunningBillsPage() {
  const query = useQuery();
  const { group_by = "client", page = "1" } = query.values;
  const bills = useAnswer(getRunningBills, { group_by, page, limit: 20 });
  return (
    <Page title="Running bills" intro="Whole fees and the usage so far of periods that have not ended.">
      <Filters query={query}>
        <SelectFilter
          query={query}
          name="group_by"
          label="By"
          any="client"
          choices={[
            { value: "product", label: "product" },
            { value: "subscription", label: "subscription" },
          ]}
        />
      </Filters>
      <Await of={bills}>
        {({ as_of, pending, totals, groups, rows }) =>
          totals.length === 0 ? (
            <Empty title="Nothing runs yet">
              {pending === 0
                ? "Active subscriptions are rated within the minute in which usage comes."
                : `${count(pending, "subscription")} are rated within a minute.`}
            </Empty>
          ) : (
            <>
              <div class="figures-row">
                {totals.map(({ currency, amount, subscriptions }) => (
                  <Figure
                    key={currency}
                    label={`So far, ${currency}`}
                    value={money(amount, currency)}
                    note={count(subscriptions, "subscription")}
                  />
                ))}
              </div>
              <Section title={`By ${group_by}`}>
                <Bars
                  label="Running bills"
                  of={rows.map(({ id, name, currency, amount }) => ({
                    key: `${id} ${currency}`,
                    name: <a href={`${BASE}${PATHS[group_by] ?? ""}/${id}`}>{name}</a>,
                    size: Number(amount),
                    scale: currency,
                    value: money(amount, currency),
                  }))}
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
                <p class="soft">
                  As of <Time at={as_of} />
                  {pending > 0 && `; ${number(pending)} not rated yet`}.
                </p>
              </Section>
            </>
          )
        }
      </Await>
    </Page>
  );
}
