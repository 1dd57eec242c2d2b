import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import type { SimulationDetail, SimulationRow } from "../../../billing/simulations/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { count, number, percent } from "../../text/number.ts";
import { calendarMonth, monthsOf } from "../../text/time.ts";
import { SubscriptionLink } from "../../ui/named_link.tsx";
import { Bars, Gauge } from "../../ui/bars.tsx";
import { Money } from "../../ui/bill_lines.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { History } from "../../ui/history.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Facts, Figure, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty } from "../../ui/states.tsx";
import { type Column, ListTable, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { deleteSimulation, getSimulation, listRows } from "./calls.ts";
import { TONES } from "./simulations.tsx";

/** One simulation: totals, months, charges, the spread over subscriptions, and a row for each. */
export function SimulationPage({ params }: PageProps) {
  const [was_running, setRunning] = useState(true);
  const simulation = useAnswer(getSimulation, { id: params.id }, was_running ? { every_ms: 1_000 } : {});
  const record = simulation.answer?.data;
  if (record !== undefined && (record.status === "running") !== was_running)
    setRunning(record.status === "running");
  return (
    <Page
      title={`Simulation #${params.id ?? ""}`}
      above={<a href={`${BASE}/simulations`}>Simulations</a>}
      beside={record && <Badge tone={TONES[record.status]}>{record.status}</Badge>}
      actions={
        <>
          {record?.status === "finished" && (
            <LinkButton href={`/api/v1/simulations/${record.id}/file`} icon="download" download>
              CSV
            </LinkButton>
          )}
          {may("simulations:write") && <Delete id={Number(params.id)} />}
        </>
      }
    >
      <Await of={simulation} rows={8}>
        {(of) => (
          <>
            <Parts of={of} />
            <History of="simulation" id={of.id} />
          </>
        )}
      </Await>
    </Page>
  );
}

function Delete({ id }: { id: number }) {
  const { route } = useLocation();
  const [is_open, setOpen] = useState(false);
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        Delete
      </Button>
      {is_open && (
        <Confirm
          title="Delete this simulation?"
          act="Delete simulation"
          onClose={() => setOpen(false)}
          run={async (key) => {
            await write(deleteSimulation, { id }, { key });
            route(`${BASE}/simulations`);
          }}
        >
          <p>Its figures are gone. Nothing else depends on it.</p>
        </Confirm>
      )}
    </>
  );
}

function Parts({ of }: { of: SimulationDetail }) {
  const { currency, totals, progress, counts, reproduces } = of;
  return (
    <>
      {of.status === "running" && (
        <Section title="Under way">
          <Gauge
            used={progress.done}
            of={progress.subscriptions}
            label={`${number(progress.done)} of ${count(progress.subscriptions, "subscription")}`}
          />
          <p role="status">
            {number(progress.done)} of {count(progress.subscriptions, "subscription")}
          </p>
        </Section>
      )}
      {of.error !== null && (
        <div class="notice bad" role="alert">
          <p>{of.error}</p>
        </div>
      )}
      <div class="figures-row">
        <Figure label="Billed" value={money(totals.billed, currency)} />
        <Figure label="Would be" value={money(totals.simulated, currency)} />
        <Figure label="Difference" value={<Money of={totals.difference} currency={currency} />} />
      </div>
      <Section title="What was looked at">
        <Facts
          of={[
            ["Months", monthsOf(of)],
            ["Subscriptions", number(counts.subscriptions)],
            ["Periods", number(counts.periods)],
            [
              "The prices in force",
              reproduces === null ? (
                "–"
              ) : (
                <Badge tone={reproduces ? "good" : "bad"}>
                  {reproduces ? "reproduce the bills" : "do not reproduce all bills"}
                </Badge>
              ),
            ],
            counts.other_currency === 0
              ? undefined
              : ["Left out: another currency", number(counts.other_currency)],
            counts.without_events === 0
              ? undefined
              : ["Left out: events removed", number(counts.without_events)],
            counts.failed === 0 ? undefined : ["Left out: cannot be rated", number(counts.failed)],
            ["Begun", <Time at={of.created_at} />],
            ["Finished", <Time at={of.finished_at} />],
          ]}
        />
      </Section>
      <Breakdown of={of} />
      <SubscriptionRows id={of.id} currency={currency} />
    </>
  );
}

/** By month, over subscriptions, by line, and what the prices in force do not come to. */
function Breakdown({ of }: { of: SimulationDetail }) {
  const { currency, months, charges, spread, mismatches } = of;
  return (
    <>
      {months.length > 0 && (
        <div class="columns">
          <Section title="By month">
            <Bars
              label="Difference by month"
              of={months.map(({ month, difference }) => ({
                key: month,
                name: calendarMonth(month),
                size: Number(difference),
                value: <Money of={difference} currency={currency} />,
              }))}
            />
          </Section>
          {spread && (
            <Section title="Over subscriptions" intro="The differences from the smallest to the largest.">
              <Bars
                label="Spread of differences"
                of={[
                  [`${percent(5)} have less than`, spread.p5] as const,
                  ["Half have less than", spread.p50] as const,
                  [`${percent(95)} have less than`, spread.p95] as const,
                ].map(([name, value]) => ({
                  key: name,
                  name,
                  size: Number(value),
                  value: <Money of={value} currency={currency} />,
                }))}
              />
              <p>
                Largest: <SubscriptionLink id={spread.largest.subscription_id} />,{" "}
                {money(spread.largest.difference, currency)}
              </p>
            </Section>
          )}
        </div>
      )}
      {charges.length > 0 && (
        <Section title="By line">
          <Table
            label="By line"
            rows={charges}
            keyOf={({ kind, charge_code }) => `${kind} ${charge_code ?? ""}`}
            columns={[
              { title: "Line", cell: ({ kind, charge_code }) => charge_code ?? words(kind) },
              { title: "Billed", is_figure: true, cell: ({ billed }) => money(billed, currency) },
              { title: "Would be", is_figure: true, cell: ({ simulated }) => money(simulated, currency) },
              {
                title: "Difference",
                is_figure: true,
                cell: ({ difference }) => <Money of={difference} currency={currency} />,
              },
            ]}
          />
        </Section>
      )}
      {mismatches.length > 0 && (
        <Section title="Bills that the prices in force do not come to">
          <Table
            label="Mismatches"
            rows={mismatches}
            keyOf={({ subscription_id, billingStartAt }) => `${subscription_id} ${billingStartAt}`}
            columns={[
              {
                title: "Subscription",
                cell: ({ subscription_id }) => <SubscriptionLink id={subscription_id} />,
              },
              { title: "Period from", cell: ({ billingStartAt }) => <Time at={billingStartAt} /> },
              { title: "Billed", is_figure: true, cell: ({ billed }) => money(billed, currency) },
              {
                title: "Comes to",
                is_figure: true,
                cell: ({ rated, message }) => (rated === null ? message : money(rated, currency)),
              },
            ]}
          />
        </Section>
      )}
    </>
  );
}

function SubscriptionRows({ id, currency }: { id: number; currency: string }) {
  const query = useQuery();
  const rows = useAnswer(listRows, { id, ...query.input([]) });
  const columns: Column<SimulationRow>[] = [
    {
      title: "Subscription",
      cell: ({ subscription_id, external_subscription_id }) => (
        <a href={`${BASE}/subscriptions/${subscription_id}`}>{external_subscription_id}</a>
      ),
    },
    { title: "Periods", is_figure: true, is_minor: true, cell: ({ periods }) => number(periods) },
    { title: "Billed", is_figure: true, cell: ({ billed }) => money(billed, currency) },
    { title: "Would be", is_figure: true, cell: ({ simulated }) => money(simulated, currency) },
    {
      title: "Difference",
      is_figure: true,
      cell: ({ difference }) => <Money of={difference} currency={currency} />,
    },
  ];
  return (
    <Section title="By subscription">
      <ListTable
        label="By subscription"
        loaded={rows}
        columns={columns}
        keyOf={({ subscription_id }) => subscription_id}
        query={query}
        empty={<Empty title="No subscriptions" />}
      />
    </Section>
  );
}
