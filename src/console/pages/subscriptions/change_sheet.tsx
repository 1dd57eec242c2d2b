import { useEffect, useState } from "preact/hooks";
import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { company } from "../../app/session.ts";
import { Sheet } from "../../ui/dialog.tsx";
import { type Act, Choices, Effects, EndChoice, type EndOf } from "../../ui/effects.tsx";
import { Pick } from "../../ui/picker.tsx";
import { BILLING_MODELS } from "../../ui/sources.ts";
import {
  cancelSubscription,
  downgrade,
  previewCancellation,
  previewChange,
  previewDowngrade,
  previewUpgrade,
  requestChange,
  upgrade,
} from "./calls.ts";

/** A plan change or cancellation, with what it would bill before and after, before one confirms. */
export function ChangeSheet(props: {
  of: SubscriptionDetail;
  kind: "change" | "cancel";
  onClose: () => void;
}) {
  const { of, kind, onClose } = props;
  const [act, setAct] = useState<Act>();
  return (
    <Sheet
      title={kind === "change" ? `Change the plan of ${of.name}` : `Cancel ${of.name}`}
      onClose={onClose}
    >
      {kind === "change" ? (
        <PlanChoice of={of} onChoose={setAct} />
      ) : (
        <Cancellation id={of.id} onChoose={setAct} />
      )}
      {act && <Effects key={JSON.stringify([act.preview.path, act.input])} act={act} onClose={onClose} />}
    </Sheet>
  );
}

type Way = "change" | "upgrade" | "downgrade";

function PlanChoice({ of, onChoose }: { of: SubscriptionDetail; onChoose: (act: Act | undefined) => void }) {
  const [model, setModel] = useState<BillingModel>();
  const [when, setWhen] = useState("next_period");
  const [at, setAt] = useState("");
  const [way, setWay] = useState<Way>("change");
  const both_have_credits =
    of.billing_model.credit_plan !== null && model !== undefined && model.credit_plan !== null;
  useEffect(() => {
    if (model === undefined || (way === "change" && when === "instant" && at === "")) {
      onChoose(undefined);
      return;
    }
    const input = { id: of.id, new_billing_model_id: model.id };
    if (way === "upgrade") onChoose({ preview: previewUpgrade, run: upgrade, input });
    else if (way === "downgrade") onChoose({ preview: previewDowngrade, run: downgrade, input });
    else
      onChoose({
        preview: previewChange,
        run: requestChange,
        input: { ...input, effective_at: when === "instant" ? at : when === "now" ? nowIso() : when },
      });
  }, [model, when, at, way]);
  return (
    <div class="form">
      <p>
        Now on <strong>{of.billing_model.name}</strong>.
      </p>
      <Pick
        label="New billing model"
        source={{ ...BILLING_MODELS, input: { currency: of.billing_model.currency } }}
        value={model?.id}
        onPick={(_, row) => setModel(row)}
      />
      {both_have_credits && (
        <Choices
          label="How"
          value={way}
          choices={[
            ["change", "As a plan change, at an instant"],
            ["upgrade", "As an upgrade: now, with more credits this month"],
            ["downgrade", "As a downgrade: from the next period on"],
          ]}
          onChoose={setWay}
        />
      )}
      {(way === "change" || !both_have_credits) && (
        <>
          <Choices
            label="When"
            value={when}
            choices={[
              ["next_period", "With the next period"],
              ["now", "Now"],
              ["instant", "At an instant, also in the past"],
            ]}
            onChoose={setWhen}
          />
          {when === "instant" && (
            <div class="field">
              <label for="change-at">At, in {company.value.timezone}</label>
              <input
                id="change-at"
                type="datetime-local"
                value={at}
                onChange={(event) => setAt(event.currentTarget.value)}
              />
            </div>
          )}
        </>
      )}
    </div>
  );
}

/** The present instant, as the service reads it. */
const nowIso = (): string => String(Math.floor(performance.timeOrigin + performance.now()));

function Cancellation({ id, onChoose }: { id: number; onChoose: (act: Act) => void }) {
  const [at, setAt] = useState<EndOf>("period_end");
  useEffect(
    () => onChoose({ preview: previewCancellation, run: cancelSubscription, input: { id, at } }),
    [at],
  );
  return <EndChoice value={at} onChoose={setAt} />;
}
