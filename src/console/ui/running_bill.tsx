import type { BillPreview } from "../../billing/runs/model.ts";
import { useAnswer } from "../api/cache.ts";
import { get } from "../api/call.ts";
import { money } from "../text/money.ts";
import { count, number } from "../text/number.ts";
import { period } from "../text/time.ts";
import { BillLines } from "./bill_lines.tsx";
import { Figure, Section } from "./page.tsx";
import { Await } from "./states.tsx";
import { callsByRole } from "./whose.ts";

const calls = callsByRole({ preview: get<typeof BillPreview>("/subscriptions/:id/preview") });

/** What a subscription's running period comes to so far, by line. */
export function RunningBill({ id }: { id: number }) {
  const preview = useAnswer(calls().preview, { id, projected: true });
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
