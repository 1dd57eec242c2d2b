import { useState } from "preact/hooks";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { count, number } from "../../text/number.ts";
import { LastBills } from "../../ui/bills.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { Limits } from "../../ui/limits.tsx";
import { RunningBill } from "../../ui/running_bill.tsx";
import { Gauge } from "../../ui/bars.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { History } from "../../ui/history.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Time } from "../../ui/timeline.tsx";
import { Bookings } from "./add_ons.tsx";
import { SUBSCRIPTIONS } from "../../ui/sources.ts";
import { getCredits, updateSubscription } from "./calls.ts";
import { ChangeSheet } from "./change_sheet.tsx";
import { Life } from "./life.tsx";

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
      edited={edited(of, {
        fields: ({ name }) => ({ name }),
        read: () => readAnew(SUBSCRIPTIONS.one, { id: of.id }),
      })}
      submit={(values, key, if_match) =>
        write(updateSubscription, { ...values, id: of.id }, { key, if_match })
      }
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
      <Section title="Bills" actions={<a href={`${BASE}/bills?subscription_id=${of.id}`}>All bills</a>}>
        <LastBills of={{ subscription_id: of.id }} />
      </Section>
      <History of="subscription" id={of.id} />
    </>
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
