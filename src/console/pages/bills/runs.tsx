import { useState } from "preact/hooks";
import type { BillingRun, BillingRunResult, RunCounts } from "../../../billing/runs/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { send } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import { follow } from "../../app/long_work.tsx";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { period } from "../../text/time.ts";
import { List } from "../../ui/list.tsx";
import { SubscriptionLink } from "../../ui/named_link.tsx";
import { Button } from "../../ui/button.tsx";
import { Sheet, useSubmit } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Form } from "../../ui/form.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty, FailureNotice } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { say } from "../../ui/toast.tsx";
import { getRun, listRuns, runBilling } from "./calls.ts";

const STATUS_TONES = { running: "busy", finished: "good", interrupted: "warn" } as const;

const columns: Column<BillingRun>[] = [
  {
    title: "Run",
    cell: ({ id, dry_run }) => (
      <>
        <a href={`${BASE}/billing-runs/${id}`}>#{id}</a> {dry_run && <Badge>dry run</Badge>}
      </>
    ),
  },
  { title: "State", cell: ({ status }) => <Badge tone={STATUS_TONES[status]}>{status}</Badge> },
  { title: "Month", cell: ({ period: of }) => of ?? "all that is due", is_minor: true },
  { title: "Bills", is_figure: true, cell: ({ counts }) => number(counts.periods + counts.adjustments) },
  {
    title: "Failed",
    is_figure: true,
    cell: ({ counts: { failed } }) => (failed === 0 ? "0" : <Badge tone="bad">{number(failed)}</Badge>),
  },
  { title: "Sum", is_figure: true, cell: ({ totals }) => sums(totals) },
  { title: "Begun", cell: ({ created_at }) => <Time at={created_at} />, is_minor: true },
];

const sums = (totals: BillingRun["totals"]) =>
  totals.length === 0
    ? "–"
    : totals.map(({ currency, totalCharges }) => money(totalCharges, currency)).join(", ");

/** Billing runs: those of every hour and those by hand. */
export function RunsPage() {
  const query = useQuery();
  const [is_open, setOpen] = useState(false);
  const runs = useAnswer(listRuns, { page: query.values.page ?? "1", limit: 20 });
  return (
    <Page
      title="Billing runs"
      intro="What is due is billed every hour by itself. A run by hand first shows what it would write."
      actions={
        may("billing:write") && (
          <Button kind="primary" icon="runs" data-new onClick={() => setOpen(true)}>
            Run billing
          </Button>
        )
      }
    >
      <List
        title="All runs"
        label="Billing runs"
        loaded={runs}
        columns={columns}
        query={query}
        empty={<Empty title="No runs yet">The first begins within the hour.</Empty>}
      />
      {is_open && <RunSheet onClose={() => setOpen(false)} />}
    </Page>
  );
}

function RunSheet({ onClose }: { onClose: () => void }) {
  const [planned, setPlanned] = useState<{ period: unknown; result: BillingRunResult }>();
  const real = useSubmit(async (key) => {
    const done = write(
      runBilling,
      { ...(planned?.period !== undefined && { period: planned.period }) },
      { key },
    );
    void followNewest();
    const { data } = await done;
    say(`Billing run #${data.id}: ${count(data.counts.periods + data.counts.adjustments, "bill")}`);
  }, onClose);
  return (
    <Sheet title="Run billing" onClose={onClose}>
      <Form
        schema="RunBilling"
        act="Show what would be billed"
        submit={async ({ period: month }, key) => {
          const input = { dry_run: true, ...(month !== undefined && { period: month }) };
          setPlanned({ period: month, result: (await send(runBilling, input, { key })).data });
        }}
      >
        {(form) => (
          <TextField
            form={form}
            name="period"
            label="Month"
            type="month"
            help="Without one: all that is due."
          />
        )}
      </Form>
      {planned && (
        <>
          <h3>Would be written now</h3>
          <RunCountFacts of={planned.result.counts} />
          <p class="total">
            Sum <strong>{sums(planned.result.totals)}</strong>
          </p>
          <RunRecords of={planned.result} />
          {real.failure && <FailureNotice failure={real.failure} />}
          <div class="actions end">
            <Button onClick={onClose}>{planned.result.totals.length > 0 ? "Bill nothing" : "Close"}</Button>
            {planned.result.totals.length > 0 && (
              <Button kind="primary" is_busy={real.is_busy} onClick={() => void real.submit()}>
                Bill now: {sums(planned.result.totals)}
              </Button>
            )}
          </div>
        </>
      )}
    </Sheet>
  );
}

/** Shows the run that was just begun in the header, on whatever page one goes on. */
async function followNewest(): Promise<void> {
  await follow({ id: "billing run", title: "Billing run", href: `${BASE}/billing-runs` }, async () => {
    const { data } = await send(listRuns, { page: 1, limit: 1 });
    const [newest] = data;
    return {
      progress: newest === undefined ? "" : count(newest.counts.subscriptions, "subscription"),
      is_over: newest === undefined || newest.status !== "running",
    };
  });
}

function RunRecords({ of }: { of: BillingRunResult }) {
  if (of.records.length === 0) return <p class="soft">Nothing is due.</p>;
  return (
    <Table
      label="Bills"
      rows={of.records}
      keyOf={({ subscription_id, billingStartAt, kind, sequence }) =>
        `${subscription_id} ${billingStartAt} ${kind} ${sequence}`
      }
      columns={[
        {
          title: "Subscription",
          cell: ({ subscription_id }) => <SubscriptionLink id={subscription_id} />,
        },
        { title: "Period", cell: ({ billingStartAt, billingEndAt }) => period(billingStartAt, billingEndAt) },
        { title: "Kind", cell: ({ kind }) => kind, is_minor: true },
        {
          title: "Amount",
          is_figure: true,
          cell: ({ totalCharges, currency }) => money(totalCharges, currency),
        },
      ]}
    />
  );
}

function RunCountFacts({ of }: { of: RunCounts }) {
  return (
    <Facts
      of={[
        ["Subscriptions looked at", number(of.subscriptions)],
        ["Bills of periods", number(of.periods)],
        ["Adjustments", number(of.adjustments)],
        of.advances === undefined ? undefined : ["In advance", number(of.advances)],
        of.interims === undefined ? undefined : ["Interim", number(of.interims)],
        ["Up to date", number(of.unchanged)],
        ["Not due yet", number(of.not_due)],
        ["Failed", number(of.failed)],
        ["New findings of unbilled usage", number(of.late_unbilled)],
      ]}
    />
  );
}

/** One billing run with its errors. */
export function RunPage({ params }: PageProps) {
  const run = useAnswer(getRun, { id: params.id });
  return (
    <Page
      title={`Billing run #${params.id ?? ""}`}
      above={<a href={`${BASE}/billing-runs`}>Billing runs</a>}
      beside={
        run.answer && <Badge tone={STATUS_TONES[run.answer.data.status]}>{run.answer.data.status}</Badge>
      }
    >
      <Await of={run}>
        {(record) => (
          <>
            <Section title={sums(record.totals)}>
              <Facts
                of={[
                  ["Begun", <Time at={record.created_at} />],
                  ["Finished", <Time at={record.finished_at} />],
                  ["Month", record.period ?? "all that was due"],
                  ["Dry run", record.dry_run ? "yes: nothing was written" : "no"],
                ]}
              />
              <RunCountFacts of={record.counts} />
            </Section>
            {record.errors.length > 0 && (
              <Section title="Errors">
                <Table
                  label="Errors"
                  rows={record.errors}
                  keyOf={({ subscription_id, billingStartAt, message }) =>
                    `${subscription_id ?? ""} ${billingStartAt ?? ""} ${message}`
                  }
                  columns={[
                    {
                      title: "Subscription",
                      cell: ({ subscription_id }) =>
                        subscription_id === null ? "–" : <SubscriptionLink id={subscription_id} />,
                    },
                    { title: "Period from", cell: ({ billingStartAt }) => <Time at={billingStartAt} /> },
                    { title: "Why", cell: ({ message }) => message },
                  ]}
                />
              </Section>
            )}
          </>
        )}
      </Await>
    </Page>
  );
}
