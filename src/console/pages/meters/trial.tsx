import { useState } from "preact/hooks";
import type { MeterTrial } from "../../../billing/meters/model.ts";
import { type Input, send } from "../../api/call.ts";
import { number } from "../../text/number.ts";
import { SubscriptionLink } from "../../ui/named_link.tsx";
import { Button } from "../../ui/button.tsx";
import { useSubmit } from "../../ui/dialog.tsx";
import { Section } from "../../ui/page.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { tryMeter } from "./calls.ts";

/** Counts stored events by a meter, saved or not. */
export function Trial({ meter }: { meter: () => Input }) {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [result, setResult] = useState<MeterTrial>();
  const { submit, is_busy, failure } = useSubmit(async () => {
    setResult((await send(tryMeter, { meter: meter(), from, to })).data);
  });
  return (
    <Section title="Try it" intro="Counts stored events, by subscription. Nothing is saved.">
      <div class="field-row">
        <label>
          From
          <input type="date" value={from} onChange={(event) => setFrom(event.currentTarget.value)} />
        </label>
        <label>
          Before
          <input type="date" value={to} onChange={(event) => setTo(event.currentTarget.value)} />
        </label>
      </div>
      <p>
        <Button is_busy={is_busy} disabled={from === "" || to === ""} onClick={() => void submit()}>
          Count
        </Button>
      </p>
      {failure && <FailureNotice failure={failure} />}
      {result && <TrialResult of={result} />}
    </Section>
  );
}

function TrialResult({ of }: { of: MeterTrial }) {
  if (of.rows.length === 0) return <p role="status">No events count.</p>;
  return (
    <div role="status">
      <Table
        label="What it counts"
        rows={of.rows}
        keyOf={({ subscription_id, group }) => `${subscription_id} ${JSON.stringify(group)}`}
        columns={[
          {
            title: "Subscription",
            cell: ({ subscription_id }) => <SubscriptionLink id={subscription_id} />,
          },
          {
            title: "Group",
            cell: ({ group }) =>
              Object.entries(group)
                .map(([key, value]) => `${key} ${value ?? "–"}`)
                .join(", ") || "–",
          },
          { title: "Quantity", is_figure: true, cell: ({ quantity }) => number(quantity) },
          { title: "Events", is_figure: true, cell: ({ event_count }) => number(event_count) },
          {
            title: "Without a value",
            is_figure: true,
            is_minor: true,
            cell: ({ skipped_events }) => number(skipped_events),
          },
        ]}
      />
      {!of.is_complete && <p class="soft">These are the subscriptions with most events; there are more.</p>}
    </div>
  );
}
