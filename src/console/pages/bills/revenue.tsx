import type { Static } from "@sinclair/typebox";
import type { Revenue } from "../../../billing/revenue/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { date, instantMs, month, period } from "../../text/time.ts";
import { Chart } from "../../ui/chart.tsx";
import { DateFilter, Filters, SelectFilter } from "../../ui/filters.tsx";
import { words } from "../../ui/names.ts";
import { Page, Section } from "../../ui/page.tsx";
import { type QueryState, useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import { Pager, Table } from "../../ui/table.tsx";
import { getRevenue } from "./calls.ts";

const INTERVALS = ["day", "week", "month", "quarter", "year"].map((value) => ({
  value,
  label: words(value),
}));
const GROUPS = ["client", "product", "billing_model", "subscription", "kind"].map((value) => ({
  value,
  label: words(value),
}));
const PATHS: Record<string, string> = {
  client: "/clients",
  product: "/products",
  billing_model: "/billing-models",
  subscription: "/subscriptions",
};
/** A group as the head of a column: "Billing model". */
const headOf = (group: string) => words(group).replace(/^./, (first) => first.toUpperCase());
/** Groups with a line of their own in the chart. */
const SHOWN = 8;

/** What was billed, over time and by group. */
export function RevenuePage() {
  const query = useQuery();
  const { from, to, interval, group_by = "product", page = "1" } = query.values;
  const revenue = useAnswer(getRevenue, { from, to, interval, group_by, page, limit: 20 });
  return (
    <Page title="Revenue" intro="What was billed for the periods that begin in the range, by currency.">
      <Filters query={query}>
        <DateFilter query={query} name="from" label="From" />
        <DateFilter query={query} name="to" label="Before" />
        <SelectFilter query={query} name="interval" label="In" choices={INTERVALS} any="months" />
        <SelectFilter query={query} name="group_by" label="By" choices={GROUPS} any="product" />
      </Filters>
      <Await of={revenue} rows={8}>
        {(report) =>
          report.totals.length === 0 ? (
            <Empty title="Nothing was billed in this range" />
          ) : (
            <>
              {report.totals.map(({ currency }) => (
                <RevenueOf key={currency} report={report} currency={currency} />
              ))}
              <Rows report={report} group_by={group_by} page={Number(page)} query={query} />
            </>
          )
        }
      </Await>
    </Page>
  );
}

type Report = Static<typeof Revenue>;

function RevenueOf({ report, currency }: { report: Report; currency: string }) {
  const total = report.totals.find((one) => one.currency === currency);
  const rows = report.rows.filter((row) => row.currency === currency).slice(0, SHOWN);
  const starts = report.buckets.map(({ from }) => instantMs(from));
  const now = performance.timeOrigin + performance.now();
  const unfinished = report.buckets.findIndex(({ to }) => instantMs(to) > now);
  const tick = report.interval === "day" || report.interval === "week" ? date : month;
  return (
    <Section title={`${money(total?.amount ?? "0", currency)} in ${count(total?.records ?? 0, "bill")}`}>
      <Chart
        kind="stacked"
        starts={starts}
        series={rows.map(({ name, amounts }) => ({ name, values: amounts.map(Number) }))}
        sentence={`Billed for ${period(report.from, report.to)}, ${currency}${rows.length === SHOWN ? `; the ${SHOWN} largest of this page are drawn` : ""}.`}
        nameBucket={(i) => {
          const bucket = report.buckets[i];
          return bucket === undefined ? "" : period(bucket.from, bucket.to);
        }}
        nameTick={tick}
        nameValue={(_, i, bucket) => money(rows[i]?.amounts[bucket] ?? "0", currency)}
        {...(unfinished >= 0 && { partial_from: unfinished })}
      />
    </Section>
  );
}

function Rows({
  report,
  group_by,
  page,
  query,
}: {
  report: Report;
  group_by: string;
  page: number;
  query: QueryState;
}) {
  const path = PATHS[group_by];
  return (
    <Section title={`By ${words(group_by)}`}>
      <Table
        label="Revenue"
        rows={report.rows}
        keyOf={({ id, name, currency }) => `${id ?? name} ${currency}`}
        columns={[
          {
            title: headOf(group_by),
            cell: ({ id, name }) =>
              id === null || path === undefined ? words(name) : <a href={`${BASE}${path}/${id}`}>{name}</a>,
          },
          { title: "Bills", is_figure: true, cell: ({ records }) => number(records) },
          { title: "Amount", is_figure: true, cell: ({ amount, currency }) => money(amount, currency) },
        ]}
      />
      <div class="table-foot">
        <Pager
          meta={{ page, limit: 20, total: report.groups, total_pages: Math.ceil(report.groups / 20) }}
          query={query}
        />
      </div>
    </Section>
  );
}
