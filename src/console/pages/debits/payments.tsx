import type { MandatePayment } from "../../../emandate/payments/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { money } from "../../text/money.ts";
import { number } from "../../text/number.ts";
import { calendarDay } from "../../text/time.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { List } from "../../ui/list.tsx";
import { MandateLink } from "../../ui/named_link.tsx";
import { DateFilter, SelectFilter } from "../../ui/filters.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { listPayments } from "./calls.ts";
import { PAYMENT_TONES } from "./tones.ts";

const STATES = Object.keys(PAYMENT_TONES).map((value) => ({ value, label: words(value) }));

const columns: Column<MandatePayment>[] = [
  { title: "Debit", cell: ({ id }) => <a href={`${BASE}/debits/payments/${id}`}>#{id}</a> },
  {
    title: "Mandate",
    cell: ({ mandate_id }) => <MandateLink id={mandate_id} />,
  },
  { title: "Due", cell: ({ due_date }) => calendarDay(due_date) },
  { title: "State", cell: ({ status }) => <Badge tone={PAYMENT_TONES[status]}>{words(status)}</Badge> },
  { title: "The bank says", is_minor: true, cell: ({ response_message }) => response_message ?? "–" },
  { title: "Attempts", is_figure: true, is_minor: true, cell: ({ attempt_count }) => number(attempt_count) },
  { title: "Amount", is_figure: true, cell: ({ amount, currency }) => money(amount, currency) },
];

/** All debits. */
export function PaymentsPage() {
  const query = useQuery();
  const payments = useAnswer(listPayments, {
    ...query.input(["status", "mandate_id", "from", "to"]),
    sums: true,
  });
  return (
    <Page title="Debits" intro="Each debit of a mandate, for a period or by hand.">
      <AreaTabs at="/debits/payments" />
      <List
        title="All debits"
        label="Debits"
        loaded={payments}
        columns={columns}
        query={query}
        filters={
          <>
            <SelectFilter query={query} name="status" label="State" choices={STATES} />
            <DateFilter query={query} name="from" label="Due from" />
            <DateFilter query={query} name="to" label="Due to" />
          </>
        }
        empty={<Empty title="No debits yet">They begin when a mandate is active.</Empty>}
      />
    </Page>
  );
}
