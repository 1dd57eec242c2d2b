import { expect } from "bun:test";
import { instant } from "../../../src/core/time.ts";
import type { Json } from "../../support/harness.ts";
import { applyDueChanges } from "../billing_model_changes/fixtures.ts";
import type { BillingFixture, Company } from "../fixtures.ts";

// A worked example: what happens to one subscription, through the public interface, and the bills that follow
// from the rules of billing, written by hand.

/** Something that happens at an instant of the clock. Models are named by their place in `models`. */
export type Step = { readonly at: string } & (
  | { readonly use: readonly (readonly [at: string, units: number])[] }
  | { readonly change: number; readonly effective_at: string }
  | { readonly upgrade: number }
  | { readonly downgrade: number }
  | { readonly cancel: "now" | "period_end" }
  /** Applies the scheduled changes that are due, as the service does every second. */
  | { readonly apply: true }
  /** Billing runs for these months; none: one for all that is due. */
  | { readonly bill: readonly string[] }
);

export interface Example {
  readonly name: string;
  readonly timezone?: string;
  readonly models: readonly Json[];
  /** Default: 1 January 2024, 00:00 UTC. */
  readonly started_at?: string;
  /** Default: the first of the month. */
  readonly anchor?: number;
  readonly steps: readonly Step[];
  readonly bills: readonly Bill[];
}

/**
 * A record as text: `period 2024-03-01T00:00..2024-04-01T00:00 17.00` (UTC), then its lines: `fee 17.00 17/31`,
 * `usage 2.50 (5 in 2)` (units in events), `overage 0.22 (11)` (credits), `minimum_true_up 3.00 31/31`,
 * `maximum_cap -1.00`; with several models each begins with its model's letter.
 */
export type Bill = readonly [head: string, ...lines: string[]];

/** A bill of a calendar month of 2024 in UTC. */
function billOf(kind: "period" | "adjustment") {
  return (year_month: string, total: string, ...lines: string[]): Bill => {
    const next = Temporal.PlainYearMonth.from(year_month).add({ months: 1 });
    return [`${kind} ${year_month}-01T00:00..${next.toString()}-01T00:00 ${total}`, ...lines];
  };
}
export const month = billOf("period");
export const adjustment = billOf("adjustment");

/** April 2024 has begun, and the hour of grace is over. */
export const APRIL = "2024-04-01T01:00:00Z";

/** An example of March 2024: usage all through the month, billed in April. */
export function march(
  name: string,
  model: Json,
  usage: readonly number[],
  bill: readonly [total: string, ...lines: string[]],
  started_at?: string,
): Example {
  const [total, ...lines] = bill;
  return {
    name,
    models: [model],
    ...(started_at === undefined ? {} : { started_at }),
    steps: [
      { at: APRIL, use: usage.map((units) => ["2024-03-20T12:00:00Z", units]) },
      { at: APRIL, bill: ["2024-03"] },
    ],
    bills: [month("2024-03", total, ...lines)],
  };
}

const letter = (index: number) => String.fromCodePoint(65 + index);

/**
 * Carries an example out and compares every record with its bills. Then bills again, which must write nothing,
 * and proves each record by its events.
 */
export async function workOut(
  billing: BillingFixture,
  companies: Map<string, Company>,
  of: Example,
): Promise<void> {
  const { timezone = "UTC", models, started_at = "2024-01-01T00:00:00Z", anchor = 1, steps, bills } = of;
  const company = companies.get(timezone) ?? (await billing.addCompany({ timezone }));
  companies.set(timezone, company);
  billing.clock.set(steps[0]?.at ?? APRIL);
  const ids: number[] = [];
  for (const [index, model] of models.entries()) {
    ids.push(await company.addModel({ name: letter(index), ...model }));
  }
  const id = await company.subscribe(ids[0], { started_at, billing_anchor_day: anchor });
  const { external_subscription_id } = (await ask(company, "GET", `/subscriptions/${id}`)).data;

  for (const step of steps) {
    billing.clock.set(step.at);
    await take(billing, company, { id, external_subscription_id, models: ids }, step);
  }
  const records = await recordsOf(company, id);
  expect(records.map((record) => shown(record, ids))).toEqual(bills.map((bill) => [...bill]));

  const months = [...new Set(records.map(({ start_month }) => start_month))];
  for (const period of months) await company.run({ period, subscription_ids: [id] });
  expect(await recordsOf(company, id)).toEqual(records);
  for (const record of records) {
    expect(record.billedUnits, `units of record ${record.id}`).toBe(unitsOf(record.lines));
    const proof = await ask(company, "GET", `/billing-records/${record.id}/verify`);
    expect(proof.data, `record ${record.id}`).toMatchObject({ matches: true });
  }
}

/** The units on the usage lines; the examples' are small enough for numbers. */
function unitsOf(lines: Json[]): number {
  const quantities = lines.filter(({ kind }) => kind === "usage").map(({ quantity }) => Number(quantity));
  return quantities.reduce((all, quantity) => all + quantity, 0);
}

interface Subscribed {
  readonly id: number;
  readonly external_subscription_id: string;
  readonly models: readonly number[];
}

async function take(
  billing: BillingFixture,
  company: Company,
  { id, ...of }: Subscribed,
  step: Step,
): Promise<void> {
  const path = `/subscriptions/${id}`;
  if ("use" in step) {
    if (step.use.length === 0) return;
    const events = step.use.map(([at, usage]) => ({
      external_subscription_id: of.external_subscription_id,
      timestamp: instant(at).epochMilliseconds,
      usage,
    }));
    await ask(company, "POST", "/usage/events", events);
  } else if ("change" in step) {
    const new_billing_model_id = of.models[step.change];
    const { effective_at } = step;
    await ask(company, "POST", `${path}/billing-model-changes`, { new_billing_model_id, effective_at });
  } else if ("upgrade" in step) {
    await ask(company, "POST", `${path}/upgrade`, { new_billing_model_id: of.models[step.upgrade] });
  } else if ("downgrade" in step) {
    await ask(company, "POST", `${path}/downgrade`, { new_billing_model_id: of.models[step.downgrade] });
  } else if ("cancel" in step) {
    await ask(company, "POST", `${path}/cancel`, { at: step.cancel });
  } else if ("apply" in step) {
    await applyDueChanges(billing.service);
  } else {
    const periods = step.bill.length === 0 ? [undefined] : step.bill;
    for (const period of periods) {
      await company.run({ subscription_ids: [id], ...(period === undefined ? {} : { period }) });
    }
  }
}

async function ask(company: Company, method: string, path: string, body?: Json): Promise<Json> {
  const answer = await company.api(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** The records of a subscription whole, first written first, with the local month in which each starts. */
async function recordsOf(company: Company, id: number): Promise<Json[]> {
  const { timezone } = (await ask(company, "GET", "/company")).data;
  const details = [];
  for (const record of await company.records(id)) {
    const { data } = await ask(company, "GET", `/billing-records/${record.id}`);
    const start = instant(data.billingStartAt).toZonedDateTimeISO(timezone).toPlainDate();
    details.push({ ...data, start_month: start.toPlainYearMonth().toString() });
  }
  return details;
}

function shown({ kind, billingStartAt, billingEndAt, totalCharges, lines }: Json, models: number[]): Json {
  const [from, to] = [billingStartAt, billingEndAt].map((bound: string) => bound.slice(0, 16));
  return [`${kind} ${from}..${to} ${totalCharges}`, ...lines.map((line: Json) => shownLine(line, models))];
}

function shownLine({ kind, amount, ...line }: Json, models: number[]): string {
  const whose = models.length > 1 ? `${letter(models.indexOf(line.billing_model_id))} ` : "";
  const days = line.proration ? ` ${line.proration.numerator}/${line.proration.denominator}` : "";
  const of: Record<string, string> = {
    usage: ` (${line.quantity} in ${line.event_count})`,
    overage: ` (${line.quantity})`,
  };
  return `${whose}${kind} ${amount}${days}${of[kind] ?? ""}`;
}
