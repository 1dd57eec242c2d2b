import type { BillLine } from "../../billing/rating/bill_line.ts";
import { BASE } from "../app/find_page.ts";
import { isNegative, money, unitPrice } from "../text/money.ts";
import { count, number } from "../text/number.ts";
import { period } from "../text/time.ts";
import { Badge } from "./page.tsx";
import { type Column, Table } from "./table.tsx";
import { isClient } from "./whose.ts";

type Line = Omit<BillLine, "event_count" | "usage_digest" | "billing_model_id" | "skipped_events"> &
  Partial<BillLine>;

/** An amount in its currency; what is below zero stands out. */
export function Money({ of, currency }: { of: string; currency: string }) {
  return <span class={isNegative(of) ? "negative" : undefined}>{money(of, currency)}</span>;
}

/** The address of the events that a usage line counts: those of its stretch, with the values that its price is of. */
export function eventsHref(
  subscription_id: number,
  { from, to, match }: Pick<BillLine, "from" | "to" | "match">,
): string {
  const query = new URLSearchParams({ subscription_id: String(subscription_id), from, to });
  const values = Object.entries(match ?? {}).map(([key, value]) => [`metadata:${key}`, "is", value]);
  if (values.length > 0) query.set("filters", JSON.stringify(values));
  return `${BASE}${isClient() ? "/my" : ""}/usage/events?${query.toString()}`;
}

/** The lines of a bill, as the service says them. */
export function BillLines(props: {
  lines: readonly Line[];
  currency: string;
  total: string;
  /** Whose usage it is: lines lead to their events. */
  subscription_id?: number;
  label?: string;
}) {
  const { lines, currency, total, subscription_id, label = "Lines" } = props;
  const columns: Column<Line>[] = [
    {
      title: "What",
      cell: (line) => (
        <>
          {line.description} {line.trial === true && <Badge>trial</Badge>}
          <div class="soft">
            {period(line.from, line.to)}
            {line.proration && ` · ${line.proration.numerator} of ${line.proration.denominator} days`}
            {line.match && ` · ${matchText(line.match)}`}
          </div>
        </>
      ),
    },
    {
      title: "Quantity",
      is_figure: true,
      cell: (line) => (
        <>
          {number(line.quantity)}
          {line.event_count !== null && line.event_count !== undefined && (
            <div class="soft">
              {subscription_id === undefined ? (
                count(line.event_count, "event")
              ) : (
                <a href={eventsHref(subscription_id, line)}>{count(line.event_count, "event")}</a>
              )}
              {(line.skipped_events ?? 0) > 0 && `, ${number(line.skipped_events ?? 0)} without a value`}
            </div>
          )}
        </>
      ),
    },
    {
      title: "Price",
      is_figure: true,
      is_minor: true,
      cell: ({ kind, unit_price, per }) =>
        unit_price === null ? (
          // A fee, a minimum or what is included has no price of a unit.
          <span class="soft">{kind === "charge" || kind === "add_on" ? "by tiers" : "–"}</span>
        ) : (
          <>
            {unitPrice(unit_price, currency)}
            {per !== undefined && per !== "1" && <div class="soft">for {number(per)}</div>}
          </>
        ),
    },
    { title: "Amount", is_figure: true, cell: ({ amount }) => <Money of={amount} currency={currency} /> },
  ];
  return (
    <>
      <Table label={label} columns={columns} rows={lines} keyOf={keyOf} />
      <p class="total">
        Total <strong>{money(total, currency)}</strong>
      </p>
    </>
  );
}

const keyOf = ({ kind, from, charge_code, match, add_on_id, description }: Line) =>
  `${kind} ${from} ${charge_code ?? ""} ${add_on_id ?? ""} ${JSON.stringify(match ?? null)} ${description}`;

const matchText = (match: Record<string, string>) =>
  Object.entries(match)
    .map(([key, value]) => `${key} ${value}`)
    .join(", ");
