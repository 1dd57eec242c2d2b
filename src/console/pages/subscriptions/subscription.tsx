import { useState } from "preact/hooks";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { date, dateTime, period } from "../../text/time.ts";
import { Gauge } from "../../ui/bars.tsx";
import { BillLines } from "../../ui/bill_lines.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { RECORD_KIND_NAMES } from "../../ui/names.ts";
import { Badge, Facts, Figure, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { Bookings } from "./add_ons.tsx";
import { SUBSCRIPTIONS } from "../../ui/sources.ts";
import { getCredits, listBills, previewBill, updateSubscription } from "./calls.ts";
import { ChangeSheet } from "./change_sheet.tsx";
import { Life } from "./life.tsx";
import { Limits } from "./limits.tsx";

/** One subscription: its life, its running bill, credits, limits and bills. */
export function SubscriptionPage({ params }: PageProps) {
  const subscription = useAnswer(SUBSCRIPTIONS.one, { id: params.id });
  const [open, setOpen] = useState<"change" | "cancel" | "rename">();
  const record = subscription.answer?.data;
  return (
    <Page
      title={record?.name ?? `Subscription #${params.id ?? ""}`}
      above={<a href={`${BASE}/subscriptions`}>Subscriptions</a>}
      beside={record && <Badge tone={record.status === "active" ? "good" : "plain"}>{record.status}</Badge>}
      actions={
        <>
          <LinkButton href={`${BASE}/usage?subscription=${params.id ?? ""}`} icon="usage">
            Usage
          </LinkButton>
          {record && may("subscriptions:write") && <Button onClick={() => setOpen("rename")}>Rename</Button>}
          {record?.status === "active" && may("subscriptions:write") && (
            <>
              <Button onClick={() => setOpen("change")}>Change plan</Button>
              <Button kind="danger" onClick={() => setOpen("cancel")}>
                Cancel
              </Button>
            </>
          )}
        </>
      }
    >
      <Await of={subscription} rows={8}>
        {(of) => <Parts of={of} />}
      </Await>
      {open === "rename" && record && <Rename of={record} onClose={() => setOpen(undefined)} />}
      {(open === "change" || open === "cancel") && record && (
        <ChangeSheet of={record} kind={open} onClose={() => setOpen(undefined)} />
      )}
    </Page>
  );
}

function Rename({ of, onClose }: { of: SubscriptionDetail; onClose: () => void }) {
  return (
    <FormDialog
      title={`Rename ${of.name}`}
      onClose={onClose}
      schema="UpdateSubscription"
      act="Save"
      initial={{ name: of.name }}
      submit={(values, key) => write(updateSubscription, { ...values, id: of.id }, { key })}
    >
      {(form) => <TextField form={form} name="name" label="Name" help={null} />}
    </FormDialog>
  );
}

function Parts({ of }: { of: SubscriptionDetail }) {
  const has_credits = of.billing_model.credit_plan !== null;
  return (
    <>
      <Section title="About">
        <Facts
          of={[
            ["Client", <a href={`${BASE}/clients/${of.client_id}`}>{of.client.name}</a>],
            ["Product", <a href={`${BASE}/products/${of.product_id}`}>{of.product.name}</a>],
            [
              "Billing model",
              <a href={`${BASE}/billing-models/${of.billing_model_id}`}>{of.billing_model.name}</a>,
            ],
            ["External id", <code>{of.external_subscription_id}</code>],
            ["Started", <Time at={of.started_at} />],
            ["Ends", <Time at={of.ends_at} />],
            ["Billed from day", number(of.billing_anchor_day)],
            of.trial_days === undefined ? undefined : ["Trial", count(of.trial_days, "day")],
          ]}
        />
      </Section>
      <Life of={of} />
      {of.status === "active" && <RunningBill id={of.id} />}
      <div class="columns">
        {has_credits && of.status === "active" && <Credits id={of.id} />}
        <Limits id={of.id} />
      </div>
      <Bookings of={of} />
      <Bills id={of.id} />
    </>
  );
}

function RunningBill({ id }: { id: number }) {
  const preview = useAnswer(previewBill, { id, projected: true });
  return (
    <Section title="Running bill" intro="Whole fees and the usage so far, as it would be billed now.">
      <Await of={preview}>
        {({ from, to, total, currency, lines, projected_total, unmetered }) => (
          <>
            <div class="figures-row">
              <Figure label={period(from, to)} value={money(total, currency)} note="so far" />
              {projected_total !== undefined && (
                <Figure
                  label="If usage goes on as it did"
                  value={money(projected_total, currency)}
                  note="forecast"
                />
              )}
            </div>
            {unmetered && unmetered.event_count > 0 && (
              <div class="notice warn">
                <p>
                  No charge counts {count(unmetered.event_count, "event")} ({number(unmetered.usage)} units)
                  so far.
                </p>
              </div>
            )}
            <BillLines
              lines={lines}
              currency={currency}
              total={total}
              subscription_id={id}
              label="Running bill"
            />
          </>
        )}
      </Await>
    </Section>
  );
}

function Credits({ id }: { id: number }) {
  const credits = useAnswer(getCredits, { id });
  return (
    <Section title="Credits of this month">
      <Await of={credits} rows={2}>
        {({
          allocated,
          used,
          remaining,
          overageUsed,
          overageRate,
          creditConsumption,
          planName,
          currency,
        }) => (
          <>
            <Gauge
              used={used}
              of={allocated}
              label={`${number(used)} of ${count(allocated, "credit")} used`}
            />
            <Facts
              of={[
                ["Plan", planName],
                ["Used", `${number(used)} of ${number(allocated)}`],
                ["Left", number(remaining)],
                ["Beyond", number(overageUsed)],
                [
                  "Price beyond",
                  overageRate === null ? "not billed" : `${number(overageRate)} ${currency} a credit`,
                ],
                ["Consumed", creditConsumption === "per_api_call" ? "by calls" : "by units"],
              ]}
            />
          </>
        )}
      </Await>
    </Section>
  );
}

function Bills({ id }: { id: number }) {
  const bills = useAnswer(listBills, { subscription_id: id, page: 1, limit: 12 });
  return (
    <Section title="Bills" actions={<a href={`${BASE}/bills?subscription_id=${id}`}>All bills</a>}>
      <Await of={bills}>
        {(records) =>
          records.length === 0 ? (
            <p class="soft">None yet: the first is written when the first period ends.</p>
          ) : (
            <Table
              label="Bills"
              rows={records}
              keyOf={(record) => record.id}
              columns={[
                {
                  title: "Bill",
                  cell: ({ id: bill_id, kind }) => (
                    <>
                      <a href={`${BASE}/bills/${bill_id}`}>#{bill_id}</a>{" "}
                      {kind !== "period" && <Badge>{RECORD_KIND_NAMES[kind]}</Badge>}
                    </>
                  ),
                },
                {
                  title: "Period",
                  cell: ({ billingStartAt, billingEndAt }) => period(billingStartAt, billingEndAt),
                },
                {
                  title: "Units",
                  is_figure: true,
                  is_minor: true,
                  cell: ({ billedUnits }) => number(billedUnits),
                },
                {
                  title: "Amount",
                  is_figure: true,
                  cell: ({ totalCharges, currency }) => money(totalCharges, currency),
                },
                {
                  title: "Written",
                  is_minor: true,
                  cell: ({ created_at }) => <span title={dateTime(created_at)}>{date(created_at)}</span>,
                },
              ]}
            />
          )
        }
      </Await>
    </Section>
  );
}
