import { useState } from "preact/hooks";
import type { BillingModelChange } from "../../../billing/billing_model_changes/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { number } from "../../text/number.ts";
import { BillingModelLink } from "../../ui/named_link.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Badge, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { type Happening, Timeline } from "../../ui/timeline.tsx";
import { listChanges, voidChange, withdrawChange } from "./calls.ts";

/** The life of a subscription: its start, its plan changes, its end. */
export function Life({ of }: { of: SubscriptionDetail }) {
  const changes = useAnswer(listChanges, { id: of.id, page: 1, limit: 50 });
  const [undoing, setUndoing] = useState<BillingModelChange>();
  return (
    <Section title="Life">
      <Await of={changes}>
        {(rows) => (
          <Timeline
            label="Life of the subscription"
            of={[...endOf(of), ...rows.map((row) => happening(row, setUndoing)), startOf(of)].toSorted(
              (a, b) => (a.at < b.at ? 1 : -1),
            )}
          />
        )}
      </Await>
      {undoing && (
        <Confirm
          title={undoing.status === "scheduled" ? "Withdraw this change?" : "Void this change?"}
          act={undoing.status === "scheduled" ? "Withdraw change" : "Void change"}
          onClose={() => setUndoing(undefined)}
          run={(key) =>
            write(
              undoing.status === "scheduled" ? withdrawChange : voidChange,
              { id: of.id, changeId: undoing.id },
              { key },
            )
          }
        >
          <p>
            {undoing.status === "scheduled"
              ? "The subscription keeps its billing model."
              : "Bills of closed periods are adjusted as if the change had not been made."}
          </p>
        </Confirm>
      )}
    </Section>
  );
}

const startOf = ({ started_at }: SubscriptionDetail): Happening => ({
  key: "start",
  at: started_at,
  title: "Started",
  tone: "good",
});

const endOf = ({ ends_at, status }: SubscriptionDetail): Happening[] =>
  ends_at === null
    ? []
    : [{ key: "end", at: ends_at, title: status === "cancelled" ? "Ended" : "Ends", tone: "bad" }];

const TONES = { scheduled: "busy", applied: "good", cancelled: "plain" } as const;

function happening(change: BillingModelChange, undo: (change: BillingModelChange) => void): Happening {
  const { id, effective_at, kind, status, old_billing_model_id, new_billing_model_id, voided_at } = change;
  const can_undo =
    may("subscriptions:write") && (status === "scheduled" || (status === "applied" && voided_at === null));
  return {
    key: id,
    at: effective_at,
    title: (
      <>
        {kind === "change" ? "Plan change" : kind === "upgrade" ? "Upgrade" : "Downgrade"} from{" "}
        <BillingModelLink id={old_billing_model_id} /> to <BillingModelLink id={new_billing_model_id} />{" "}
        <Badge tone={voided_at === null ? TONES[status] : "plain"}>
          {voided_at === null ? status : "voided"}
        </Badge>
        {can_undo && (
          <Button kind="quiet" onClick={() => undo(change)}>
            {status === "scheduled" ? "Withdraw" : "Void"}
          </Button>
        )}
      </>
    ),
    note: (change.credits_added !== null ||
      change.adjustment_billing_record_ids.length > 0 ||
      change.last_error !== null) && (
      <>
        {change.credits_added !== null && `${number(change.credits_added)} credits added. `}
        {change.adjustment_billing_record_ids.map((bill_id) => (
          <a key={bill_id} href={`${BASE}/bills/${bill_id}`}>
            adjustment #{bill_id}{" "}
          </a>
        ))}
        {change.last_error !== null && <span class="problem">{change.last_error}</span>}
      </>
    ),
    tone: change.last_error === null ? "plain" : "bad",
  };
}
