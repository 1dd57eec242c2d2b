import { useState } from "preact/hooks";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { money } from "../../text/money.ts";
import { number } from "../../text/number.ts";
import { period } from "../../text/time.ts";
import { Gauge } from "../../ui/bars.tsx";
import { BillLines } from "../../ui/bill_lines.tsx";
import { Button } from "../../ui/button.tsx";
import { Sheet } from "../../ui/dialog.tsx";
import { type Act, Choices, Effects } from "../../ui/effects.tsx";
import { CheckField, DecimalField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { Badge, Facts, Figure, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Time } from "../../ui/timeline.tsx";
import {
  cancel,
  downgrade,
  getOverview,
  getSpendLimit,
  getSubscription,
  listEntitlements,
  listPlans,
  previewBill,
  previewCancel,
  previewDowngrade,
  previewUpgrade,
  setSpendLimit,
  upgrade,
} from "./calls.ts";

/** One of the client's own subscriptions, with what the company lets clients do. */
export function MySubscriptionPage({ params }: PageProps) {
  const subscription = useAnswer(getSubscription, { id: params.id });
  const overview = useAnswer(getOverview);
  const [open, setOpen] = useState<"upgrade" | "downgrade" | "cancel">();
  const allowed = overview.answer?.data.self_service ?? {};
  const record = subscription.answer?.data;
  const is_active = record?.status === "active";
  return (
    <Page
      title={record?.name ?? `Subscription #${params.id ?? ""}`}
      above={<a href={`${BASE}/my`}>Overview</a>}
      beside={record && <Badge tone={is_active ? "good" : "plain"}>{record.status}</Badge>}
      actions={
        is_active && (
          <>
            {allowed.upgrade === true && <Button onClick={() => setOpen("upgrade")}>Upgrade</Button>}
            {allowed.downgrade === true && <Button onClick={() => setOpen("downgrade")}>Downgrade</Button>}
            {allowed.cancel !== undefined && (
              <Button kind="danger" onClick={() => setOpen("cancel")}>
                Cancel
              </Button>
            )}
          </>
        )
      }
    >
      <Await of={subscription} rows={6}>
        {(of) => <Parts of={of} />}
      </Await>
      {record && open !== undefined && (
        <ChangeSheet
          of={record}
          kind={open}
          may_now={allowed.cancel === "now"}
          onClose={() => setOpen(undefined)}
        />
      )}
    </Page>
  );
}

function Parts({ of }: { of: SubscriptionDetail }) {
  return (
    <>
      <Section title="About">
        <Facts
          of={[
            ["Product", of.product.name],
            ["Plan", of.billing_model.name],
            ["Id for usage events", <code>{of.external_subscription_id}</code>],
            ["Usage", <a href={`${BASE}/my/usage?subscription=${of.id}`}>Explore usage</a>],
            ["Started", <Time at={of.started_at} />],
            ["Ends", <Time at={of.ends_at} />],
          ]}
        />
      </Section>
      {of.status === "active" && <RunningBill id={of.id} />}
      <Limits id={of.id} />
    </>
  );
}

function RunningBill({ id }: { id: number }) {
  const preview = useAnswer(previewBill, { id, projected: true });
  return (
    <Section title="This period so far">
      <Await of={preview}>
        {({ from, to, total, currency, lines, projected_total }) => (
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
            <BillLines lines={lines} currency={currency} total={total} label="This period so far" />
          </>
        )}
      </Await>
    </Section>
  );
}

function Limits({ id }: { id: number }) {
  const entitlements = useAnswer(listEntitlements, { id });
  const limit = useAnswer(getSpendLimit, { id });
  const [is_open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <Section title="Limits">
      <Await of={entitlements} rows={1}>
        {(rows) => (
          <ul class="rows">
            {rows.map(({ feature, kind, enabled, limit: most, used, window, per, value }) => (
              <li key={`${feature} ${window ?? ""} ${per ?? ""}`}>
                <strong>{feature}</strong>{" "}
                {kind === "value"
                  ? value
                  : kind === "switch"
                    ? enabled
                      ? "on"
                      : "off"
                    : window !== null && `a ${window}`}
                {most !== null && used !== undefined && (
                  <>
                    <Gauge
                      used={Number(used)}
                      of={Number(most)}
                      label={`${number(used)} of ${number(most)} ${feature} used`}
                    />
                    {number(used)} of {number(most)}
                  </>
                )}
              </li>
            ))}
          </ul>
        )}
      </Await>
      <Await of={limit} rows={1}>
        {({ company, client, spent, currency }) => (
          <>
            <Facts
              of={[
                ["Your spend limit", client === null ? "none" : money(client.amount, currency)],
                ["The company's", company === null ? "none" : money(company.amount, currency)],
                ["Running charges", spent === null ? "not known yet" : money(spent, currency)],
              ]}
            />
            <Button onClick={() => setOpen(true)}>Set spend limit</Button>
            {is_open && (
              <FormDialog
                title="Your spend limit"
                onClose={close}
                schema="SetSpendLimit"
                act="Set limit"
                initial={{ amount: client?.amount ?? "", hard: client?.hard ?? true }}
                submit={(values, key) => write(setSpendLimit, { ...values, id }, { key })}
              >
                {(form) => (
                  <>
                    <DecimalField
                      form={form}
                      name="amount"
                      label="Most in a billing period"
                      unit={currency}
                      help={null}
                    />
                    <CheckField form={form} name="hard" label="Refuse calls beyond it" help={null} />
                  </>
                )}
              </FormDialog>
            )}
          </>
        )}
      </Await>
    </Section>
  );
}

const TITLES = { upgrade: "Upgrade", downgrade: "Downgrade", cancel: "Cancel" } as const;

function ChangeSheet(props: {
  of: SubscriptionDetail;
  kind: keyof typeof TITLES;
  may_now: boolean;
  onClose: () => void;
}) {
  const { of, kind, may_now, onClose } = props;
  const [plan, setPlan] = useState<string>();
  const [at, setAt] = useState<"period_end" | "now">("period_end");
  const plans = useAnswer(listPlans, kind === "cancel" ? null : {});
  return (
    <Sheet title={`${TITLES[kind]} ${of.name}`} onClose={onClose}>
      {kind === "cancel" && may_now && (
        <Choices
          label="When"
          value={at}
          choices={[
            ["period_end", "With the running period"],
            ["now", "Now"],
          ]}
          onChoose={setAt}
        />
      )}
      {kind !== "cancel" && (
        <Await of={plans}>
          {(rows) => (
            <Choices
              label="Plan"
              value={plan ?? ""}
              choices={rows
                .filter(({ id }) => id !== of.billing_model_id)
                .map(({ id, name }) => [String(id), name] as const)}
              onChoose={setPlan}
            />
          )}
        </Await>
      )}
      <ChosenEffects id={of.id} kind={kind} plan={plan} at={at} onClose={onClose} />
    </Sheet>
  );
}

function ChosenEffects(props: {
  id: number;
  kind: keyof typeof TITLES;
  plan: string | undefined;
  at: string;
  onClose: () => void;
}) {
  const { id, kind, plan, at, onClose } = props;
  const act = actOf(id, kind, plan, at);
  return act && <Effects key={JSON.stringify(act.input)} act={act} onClose={onClose} />;
}

function actOf(id: number, kind: keyof typeof TITLES, plan: string | undefined, at: string): Act | null {
  if (kind === "cancel") return { preview: previewCancel, run: cancel, input: { id, at } };
  if (plan === undefined) return null;
  const input = { id, new_billing_model_id: Number(plan) };
  return kind === "upgrade"
    ? { preview: previewUpgrade, run: upgrade, input }
    : { preview: previewDowngrade, run: downgrade, input };
}
