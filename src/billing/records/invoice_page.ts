import { type Html, type HtmlPage, html, htmlPage, isolate } from "../../core/html.ts";
import { compare, formatMoney, groupDigits, isZero } from "../../core/money.ts";
import type { Period } from "../../core/periods.ts";
import { type IsoInstant, instant } from "../../core/time.ts";
import type { SubscriptionDetail } from "../subscriptions/detail.ts";
import type { BillingRecordDetail } from "./model.ts";
import type { BillLine } from "../rating/bill_line.ts";

/** The content of an invoice. */
export interface InvoiceContent {
  readonly company_name: string;
  readonly record: BillingRecordDetail;
  readonly subscription: SubscriptionDetail;
  /** The period as it was cut; its zone is that of all dates. */
  readonly period: Period;
  /** The record that this one adjusts. */
  readonly original: { readonly id: number; readonly created_at: IsoInstant } | null;
}

const STYLE = `
:root { color: #1a1a1a; background: #fff; font: 15px/1.5 system-ui, "Liberation Sans", Arial, sans-serif; }
body { max-width: 52rem; margin: 2.5rem auto; padding: 0 1.5rem; }
header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 0 2rem;
  border-bottom: 2px solid #1a1a1a; padding-bottom: 0.75rem; }
header p { margin: 0; font-size: 1.15rem; font-weight: 600; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.6rem; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; margin: 1.5rem 0 2rem; }
dt { color: #555; }
dd { margin: 0; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
caption { text-align: start; font-weight: 600; padding-bottom: 0.5rem; }
th, td { padding: 0.45rem 0.75rem 0.45rem 0; text-align: start; vertical-align: top; font-weight: 400;
  border-bottom: 1px solid #ccc; }
thead th { color: #555; font-size: 0.85rem; vertical-align: bottom; border-bottom-color: #1a1a1a; }
tbody th { overflow-wrap: anywhere; }
.number { text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr > :last-child { padding-right: 0; }
tfoot th, tfoot td { font-weight: 600; font-size: 1.1rem; border-bottom: 0; padding-top: 0.75rem; }
footer { margin-top: 2.5rem; color: #555; font-size: 0.85rem; }
@page { margin: 18mm; }
@media print {
  :root { font-size: 10.5pt; }
  body { max-width: none; margin: 0; padding: 0; }
  thead { display: table-header-group; }
  tfoot { display: table-row-group; }
  tr, dl { break-inside: avoid; }
}
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 0.5rem; }
}
`;

/**
 * A billing record as a printable page: amounts in the currency's digits, dates in the zone of its period, days
 * inclusive. Names from outside are escaped. Decision 0073.
 */
export function invoicePage(content: InvoiceContent): HtmlPage {
  const { company_name, record, period } = content;
  const heading = `${record.kind === "adjustment" ? "Adjustment" : "Invoice"} ${record.id}`;
  const body = html`<main>
<header>
<p>${isolate(company_name)}</p>
<h1>${heading}</h1>
</header>
<dl>
${particulars(content)}
</dl>
${linesTable(record, period)}
<footer>
<p>Dates are in the time zone ${period.time_zone}. Each line is rounded to the digits of ${record.currency}.</p>
</footer>
</main>`;
  return htmlPage({ title: heading, style: STYLE, body });
}

function particulars({ record, subscription, period, original }: InvoiceContent): Html[] {
  const { client, product, name, external_subscription_id } = subscription;
  const adjusts =
    original === null
      ? []
      : [["Adjusts", html`Invoice ${original.id} of ${issued(original.created_at, period)}`] as const];
  return [
    ["Billed to", isolate(client.name)] as const,
    ["Issued", html`${issued(record.created_at, period)}`] as const,
    ...adjusts,
    [
      "Billing period",
      html`${firstDay(record.billingStartAt, period)} – ${lastDay(record.billingEndAt, period)}`,
    ] as const,
    ["Product", isolate(product.name)] as const,
    ["Subscription", html`${isolate(name)} (${isolate(external_subscription_id)})`] as const,
  ].map(([term, text]) => html`<dt>${term}</dt><dd>${text}</dd>`);
}

function linesTable({ lines, totalCharges, currency, kind }: InvoiceContent["record"], period: Period): Html {
  const rows = lines.map((line) => lineRow(line, currency, period));
  const none = html`<tr><td colspan="6">Nothing is charged.</td></tr>`;
  return html`<table>
<caption>${kind === "adjustment" ? "What changes" : "What is charged"}</caption>
<thead>
<tr><th scope="col">Description</th><th scope="col">From</th><th scope="col">To</th><th scope="col" class="number">Quantity</th><th scope="col" class="number">Unit price</th><th scope="col" class="number">Amount</th></tr>
</thead>
<tbody>
${rows.length > 0 ? rows : none}
</tbody>
<tfoot>
<tr><th scope="row" colspan="5">Total</th><td class="number">${formatMoney(totalCharges, currency)}</td></tr>
</tfoot>
</table>`;
}

function lineRow(line: BillLine, currency: string, period: Period): Html {
  const { description, from, to, quantity, amount } = line;
  return html`<tr><th scope="row">${isolate(description)}${skippedEvents(line)}</th><td>${firstDay(from, period)}</td><td>${lastDay(to, period)}</td><td class="number">${groupDigits(quantity)}</td><td class="number">${unitPrice(line)}</td><td class="number">${formatMoney(amount, currency)}</td></tr>`;
}

/** Events that a meter found no value in, so that a quantity can be compared with what was sent. */
function skippedEvents({ skipped_events = 0 }: BillLine): string {
  return skipped_events === 0 ? "" : ` (events without a value: ${groupDigits(String(skipped_events))})`;
}

/** Not rounded: a price may have more digits than an amount of its currency. */
function unitPrice({ unit_price, per = "1" }: BillLine): string {
  if (unit_price === null) return "–";
  const is_of_many = compare(per, "1") !== 0 && !isZero(unit_price);
  return is_of_many ? `${groupDigits(unit_price)} per ${groupDigits(per)}` : groupDigits(unit_price);
}

function issued(at: IsoInstant, { time_zone }: Period): string {
  return dayText(instant(at).toZonedDateTimeISO(time_zone).toPlainDate());
}

/** The first day of a stretch, with the time where it begins during the day. */
function firstDay(at: IsoInstant, period: Period): string {
  if (instant(at).equals(period.from)) return dayText(period.start_date);
  const local = instant(at).toZonedDateTimeISO(period.time_zone);
  return local.equals(local.startOfDay()) ? dayText(local.toPlainDate()) : momentText(local);
}

/** The last day of a stretch, with the time where it ends during the day. */
function lastDay(at: IsoInstant, period: Period): string {
  if (instant(at).equals(period.to)) return dayText(period.end_date.subtract({ days: 1 }));
  const local = instant(at).toZonedDateTimeISO(period.time_zone);
  if (!local.equals(local.startOfDay())) return momentText(local);
  return dayText(local.toPlainDate().subtract({ days: 1 }));
}

function dayText(day: Temporal.PlainDate): string {
  return day.toLocaleString("en-GB", { day: "numeric", month: "long", year: "numeric" });
}

function momentText(local: Temporal.ZonedDateTime): string {
  return `${dayText(local.toPlainDate())}, ${local.toPlainTime().toString({ smallestUnit: "minute" })}`;
}
