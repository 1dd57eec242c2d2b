import type { BillingRecord } from "../../billing/records/model.ts";
import { useAnswer } from "../api/cache.ts";
import { type Input, list } from "../api/call.ts";
import { number } from "../text/number.ts";
import { date, period } from "../text/time.ts";
import { Money } from "./bill_lines.tsx";
import { RECORD_KIND_NAMES } from "./names.ts";
import { Badge } from "./page.tsx";
import { RecordLink } from "./record_link.tsx";
import { Await } from "./states.tsx";
import { type Column, Table } from "./table.tsx";
import { Time } from "./timeline.tsx";
import { callsByRole, isClient } from "./whose.ts";

export const bills = callsByRole({ list: list<typeof BillingRecord>("/billing-records") });

type BillColumn = Column<BillingRecord>;

const BILL: BillColumn = {
  title: "Bill",
  cell: ({ id, kind }) => (
    <>
      <RecordLink kind="billing_record" id={id}>
        #{id}
      </RecordLink>{" "}
      {kind !== "period" && <Badge>{RECORD_KIND_NAMES[kind]}</Badge>}
    </>
  ),
};

/** Whose a bill is, in a list that was asked for with names; on a client's own page all are its. */
const subscription = (is_of_client = isClient()): BillColumn => ({
  title: "Subscription",
  cell: ({ subscription_id, subscription_name, client_id = null, client_name }) => (
    <>
      <RecordLink kind="subscription" id={subscription_id}>
        {subscription_name}
      </RecordLink>
      {!is_of_client && (
        <div class="soft">
          <RecordLink kind="client" id={client_id}>
            {client_name}
          </RecordLink>
        </div>
      )}
    </>
  ),
});

const AMOUNTS: BillColumn[] = [
  {
    title: "Period",
    sort: "billingStartAt",
    cell: ({ billingStartAt, billingEndAt }) => period(billingStartAt, billingEndAt),
  },
  { title: "Units", is_figure: true, is_minor: true, cell: ({ billedUnits }) => number(billedUnits) },
  {
    title: "Amount",
    is_figure: true,
    sort: "totalCharges",
    cell: ({ totalCharges, currency }) => <Money of={totalCharges} currency={currency} />,
  },
  { title: "Written", is_minor: true, cell: ({ created_at }) => <Time at={created_at} show={date} /> },
];

/** The columns of a list of bills: of one subscription, or with names. */
export const BILL_COLUMNS: readonly BillColumn[] = [BILL, ...AMOUNTS];
export const namedBillColumns = (is_of_client?: boolean): readonly BillColumn[] => [
  BILL,
  subscription(is_of_client),
  ...AMOUNTS,
];

/** The last bills of a record. */
export function LastBills({ of }: { of: Input }) {
  const loaded = useAnswer(bills().list, { ...of, with: "names", page: 1, limit: 12 });
  return (
    <Await of={loaded}>
      {(rows) =>
        rows.length === 0 ? (
          <p class="soft">None yet: the first is written when the first period ends.</p>
        ) : (
          <Table
            label="Bills"
            rows={rows}
            keyOf={({ id }) => id}
            columns={
              "subscription_id" in of ? BILL_COLUMNS : namedBillColumns("client_id" in of || isClient())
            }
          />
        )
      }
    </Await>
  );
}
