import type { Static } from "@sinclair/typebox";
import type { Overview } from "../../../overview/summary/model.ts";
import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { company, may } from "../../app/session.ts";
import { change, count, number, shortNumber } from "../../text/number.ts";
import { money } from "../../text/money.ts";
import { ago, instantMs, month } from "../../text/time.ts";
import { Bars } from "../../ui/bars.tsx";
import { Chart } from "../../ui/chart.tsx";
import { Figure, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { NeedsAttention } from "./attention.tsx";
import { SUBSCRIPTIONS } from "../../ui/sources.ts";
import { getOverview } from "./calls.ts";

type Figures = Static<typeof Overview>;

/** How the company does, and what needs a person. A company without a subscription begins with its first steps. */
export function OverviewPage() {
  const overview = useAnswer(getOverview);
  const subscriptions = useAnswer(
    SUBSCRIPTIONS.from,
    may("subscriptions:write") ? { page: 1, limit: 1 } : null,
  );
  const { route } = useLocation();
  const is_new = subscriptions.answer?.meta?.total === 0;
  useEffect(() => {
    if (is_new) route(`${BASE}/first-steps`, true);
  }, [is_new]);
  return (
    <Page title="Overview" intro={company.value.name}>
      <Await of={overview} rows={8}>
        {(figures) => <OverviewFigures of={figures} />}
      </Await>
      <NeedsAttention />
    </Page>
  );
}

function OverviewFigures({ of }: { of: Figures }) {
  const { today, running_bills, debits, coming, revenue, top_clients, as_of } = of;
  return (
    <>
      <div class="figures-row">
        {today && <Today of={today} />}
        {running_bills?.totals.map(({ currency, amount, subscriptions }) => (
          <Figure
            key={currency}
            label={`Running bills, ${currency}`}
            value={money(amount, currency)}
            href={`${BASE}/running-bills`}
            note={
              <>
                {count(subscriptions, "subscription")}
                {running_bills.pending > 0 && `, ${number(running_bills.pending)} not rated yet`}
              </>
            }
          />
        ))}
        {debits && (
          <Figure
            label="Debits paid this month"
            value={money(debits.paid.amount, "MYR")}
            note={
              <>
                {number(debits.paid.count)} paid, {number(debits.failed.count)} failed (
                {money(debits.failed.amount, "MYR")})
              </>
            }
          />
        )}
      </div>
      {revenue && <RevenueSection of={revenue} />}
      <div class="columns">
        {top_clients && top_clients.length > 0 && (
          <Section title="Top clients" intro="By what was billed for the last twelve months.">
            <Bars
              label="Top clients"
              of={top_clients.map(({ id, name, currency, amount }) => ({
                key: `${id} ${currency}`,
                name: <a href={`${BASE}/clients/${id}`}>{name}</a>,
                size: Number(amount),
                scale: currency,
                value: money(amount, currency),
              }))}
            />
          </Section>
        )}
        {coming && <Coming of={coming} />}
      </div>
      <p class="soft">As of {ago(as_of)}.</p>
    </>
  );
}

/** A figure of today beside those of the same weekday a week ago: until now, and in all. */
const beside = (now: number, before: number, whole: number) => (
  <>
    {change(now, before) ?? "nothing"} beside the same weekday: {shortNumber(before)} by now,{" "}
    {shortNumber(whole)} in all
  </>
);

function Today({ of }: { of: NonNullable<Figures["today"]> }) {
  const { so_far, same_weekday, same_weekday_whole } = of;
  return (
    <>
      <Figure
        label="Units today"
        value={shortNumber(so_far.units)}
        title={number(so_far.units)}
        href={`${BASE}/usage`}
        note={beside(so_far.units, same_weekday.units, same_weekday_whole.units)}
      />
      <Figure
        label="Events today"
        value={shortNumber(so_far.events)}
        title={number(so_far.events)}
        note={beside(so_far.events, same_weekday.events, same_weekday_whole.events)}
      />
    </>
  );
}

function RevenueSection({ of }: { of: NonNullable<Figures["revenue"]> }) {
  const starts = of.buckets.map(({ from }) => instantMs(from));
  const currencies = of.totals.map(({ currency }) => currency);
  return (
    <>
      {currencies.map((currency) => {
        const rows = of.rows.filter((row) => row.currency === currency);
        const total = of.totals.find((one) => one.currency === currency);
        return (
          <Section
            key={currency}
            title={`Revenue of twelve months, ${currency}`}
            actions={<a href={`${BASE}/revenue`}>All revenue</a>}
          >
            <Chart
              kind="stacked"
              starts={starts}
              series={rows.map(({ name, amounts }) => ({ name, values: amounts.map(Number) }))}
              sentence={`${money(total?.amount ?? "0", currency)} billed in ${count(total?.records ?? 0, "bill")}, by product.`}
              nameBucket={(i) => month(of.buckets[i]?.from ?? "")}
              nameTick={month}
              nameValue={(_, i, bucket) => money(rows[i]?.amounts[bucket] ?? "0", currency)}
              partial_from={starts.length - 1}
            />
          </Section>
        );
      })}
    </>
  );
}

function Coming({ of }: { of: NonNullable<Figures["coming"]> }) {
  const { periods_closing, plan_changes, subscriptions_ending, collections } = of;
  const due = collections?.count ?? 0;
  return (
    <Section title="Coming in 7 days">
      {periods_closing + plan_changes + subscriptions_ending + due === 0 && <p class="soft">Nothing.</p>}
      <ul class="rows">
        {periods_closing > 0 && (
          <li>
            {count(periods_closing, "billing period ends and is", "billing periods end and are")} billed
          </li>
        )}
        {plan_changes > 0 && <li>{count(plan_changes, "plan change takes", "plan changes take")} effect</li>}
        {subscriptions_ending > 0 && (
          <li>{count(subscriptions_ending, "subscription ends", "subscriptions end")}</li>
        )}
        {due > 0 && (
          <li>
            {count(due, "debit is", "debits are")} due, {money(collections?.amount ?? "0", "MYR")}
          </li>
        )}
      </ul>
    </Section>
  );
}
