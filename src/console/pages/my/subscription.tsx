import { useState } from "preact/hooks";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { Limits } from "../../ui/limits.tsx";
import { RunningBill } from "../../ui/running_bill.tsx";
import { Button } from "../../ui/button.tsx";
import { Sheet } from "../../ui/dialog.tsx";
import { type Act, Choices, Effects, EndChoice, type EndOf } from "../../ui/effects.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Time } from "../../ui/timeline.tsx";
import {
  cancel,
  downgrade,
  getOverview,
  getSubscription,
  listPlans,
  previewCancel,
  previewDowngrade,
  previewUpgrade,
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
  // Up and down go credit plans alone.
  const has_credits = record?.billing_model.credit_plan != null;
  return (
    <Page
      title={record?.name ?? `Subscription #${params.id ?? ""}`}
      above={<a href={`${BASE}/my`}>Overview</a>}
      beside={record && <Badge tone={is_active ? "good" : "plain"}>{record.status}</Badge>}
      actions={
        is_active && (
          <>
            {has_credits && allowed.upgrade === true && (
              <Button onClick={() => setOpen("upgrade")}>Upgrade</Button>
            )}
            {has_credits && allowed.downgrade === true && (
              <Button onClick={() => setOpen("downgrade")}>Downgrade</Button>
            )}
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
      {of.status === "active" && (
        <>
          <RunningBill id={of.id} />
          <Limits id={of.id} />
        </>
      )}
    </>
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
  const [at, setAt] = useState<EndOf>("period_end");
  const plans = useAnswer(listPlans, kind === "cancel" ? null : {});
  return (
    <Sheet title={`${TITLES[kind]} ${of.name}`} onClose={onClose}>
      {kind === "cancel" && may_now && <EndChoice value={at} onChoose={setAt} />}
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
