import type { EventLines } from "../../../billing/records/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { get } from "../../api/call.ts";
import { period } from "../../text/time.ts";
import { Money } from "../bill_lines.tsx";
import { Badge } from "../page.tsx";
import { RecordLink } from "../record_link.tsx";
import { Await } from "../states.tsx";
import { callsByRole } from "../whose.ts";

const calls = callsByRole({ lines: get<typeof EventLines>("/usage/events/:id/bill-lines") });

/** The lines of bills that count an event. */
export function EventBills(of: { id: string; external_subscription_id: string; timestamp: number }) {
  const found = useAnswer(calls().lines, of);
  return (
    <Await of={found} rows={1}>
      {({ is_billed, lines }) =>
        lines.length === 0 ? (
          <p class="soft">
            {is_billed ? "No line of its period's bills counts it." : "Its period is not billed yet."}
          </p>
        ) : (
          <ul class="rows">
            {lines.map(({ billing_record_id, currency, takes_back, line }) => (
              <li key={`${billing_record_id} ${line.description} ${line.from}`}>
                <RecordLink kind="billing_record" id={billing_record_id}>
                  Bill #{billing_record_id}
                </RecordLink>
                : {line.description} {takes_back && <Badge tone="warn">takes it back</Badge>}
                <div class="soft">
                  {period(line.from, line.to)}, <Money of={line.amount} currency={currency} />
                </div>
              </li>
            ))}
          </ul>
        )
      }
    </Await>
  );
}
