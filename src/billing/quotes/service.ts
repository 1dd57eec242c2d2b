import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { compare, type Decimal, isZero, multiply, readDecimal } from "../../core/money.ts";
import { periodContaining, periodStartingIn } from "../../core/periods.ts";
import { iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { type PriceTerms, priceTermsOf } from "../billing_models/price_terms.ts";
import { asStored, NO_MODEL, readTried } from "../billing_models/read_tried.ts";
import { LIMITS } from "../limits.ts";
import { NO_DIGEST } from "../../usage_store/digest.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { total } from "../rating/charges.ts";
import { listRecordedBounds } from "../records/queries.ts";
import { type BillableSubscription, duePeriod, stretchesIn } from "../runs/billable.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { CommitmentYears } from "../runs/commitment_years.ts";
import { type MeteredPeriod, meterDue, rate } from "../runs/pipeline.ts";
import { withModel } from "../simulations/rules.ts";
import { listZones } from "../subscriptions/queries.ts";
import { Quote, QuoteBillingModel, type QuoteLine } from "./model.ts";
import {
  bendsOf,
  curveUnits,
  mainQuantity,
  quantityIn,
  type QuantityOf,
  takesCalls,
  withQuantity,
} from "./rules.ts";

/**
 * Quotes a billing model, saved or sent along: what it makes of units, of quantities by its meters, or of what a
 * subscription used in a month, by the functions that bill; and of other units, as a curve. Errors: invalid. Decision 0271.
 */
export const quoteBillingModel = operation({
  name: "quote_billing_model",
  permission: "billing:read",
  input: QuoteBillingModel,
  output: Quote,
  async run(ctx, { billing_model, billing_model_id, curve = {}, ...of }) {
    const tx = readTx(ctx);
    const { draft } = await readTried(tx, { billing_model, billing_model_id });
    const model = asStored(tx, draft, billing_model_id);
    const { subscription_id } = of;
    const month = await (subscription_id === undefined
      ? quotedMonth(tx, model, of)
      : usedMonth(ctx, model, { ...of, subscription_id }));
    const lines = linesOf(month);
    const { currency } = model;
    return {
      billing_model_id: model.id === NO_MODEL ? null : model.id,
      ...(subscription_id === undefined ? {} : { subscription_id }),
      from: iso(month.period.from),
      to: iso(month.period.to),
      currency,
      lines: lines.map(toQuoteLine),
      total: total(lines, currency),
      curve: curveOf(month, priceTermsOf(model), curve),
    };
  },
});

type Asked = Pick<QuoteBillingModel, "units" | "quantities" | "period" | "is_first">;

/** The company's running calendar month with the usage that is given. */
async function quotedMonth(
  tx: ReadTx,
  model: StoredBillingModel,
  { units = "0", quantities = [], period: named, is_first = false }: Asked,
): Promise<MeteredPeriod> {
  if (named !== undefined) throw invalid("/period", "must be left out without a subscription_id");
  const zones = await listZones(tx);
  const period = periodContaining(tx.now, 1, zones);
  // A year ago: intervals of every length begin with the month.
  const year_ago = period.start_date.subtract({ years: 1 }).toZonedDateTime(period.time_zone).toInstant();
  const started_at = iso(is_first ? period.from : year_ago);
  const subscription: BillableSubscription = {
    id: NO_MODEL,
    started_at,
    ends_at: null,
    billing_anchor_day: 1,
    trial_days: 0,
    billing_model: model,
    timeline: [{ billing_model: model, from: started_at }],
    add_ons: [],
  };
  const due = duePeriod(subscription, period, zones);
  const stretches = stretchesIn(due);
  const usage = { units: "0", event_count: 0, usage_digest: NO_DIGEST };
  const used = stretches.segments.map((segment) => ({ segment, usage, charges: new Map() }));
  const nothing = { ...due, ...stretches, used, used_add_ons: [], usage_until: iso(tx.now), usage_seq: 0 };
  const terms = priceTermsOf(model);
  const own = { meter_id: null, match: null };
  return quantities.reduce(
    (month, given, i) => {
      const quantity = readQuantity(given.quantity, `/quantities/${i}/quantity`);
      return withQuantity(month, meteredBy(terms, given, `/quantities/${i}/meter_id`), quantity, {
        isAdded: true,
      });
    },
    withQuantity(nothing, own, readUnits(terms, units, "/units")),
  );
}

/** What a subscription used in a month, as if the model had always been its own. */
async function usedMonth(
  ctx: Context,
  model: StoredBillingModel,
  { subscription_id, period: named, units, quantities, is_first }: Asked & { subscription_id: number },
): Promise<MeteredPeriod> {
  const tx = readTx(ctx);
  for (const [field, given] of Object.entries({ units, quantities, is_first }))
    if (given !== undefined) throw invalid(`/${field}`, "must be left out with a subscription_id");
  if (named === undefined) throw invalid("/period", "is required with a subscription_id");
  const [subscription] = await listBillable(tx, { ids: [subscription_id], limit: 1 });
  if (!subscription) throw invalid("/subscription_id", "names no subscription of this company");
  const { currency } = subscription.billing_model;
  if (currency !== model.currency)
    throw invalid(
      "/subscription_id",
      `names a subscription in ${currency}, and the model is in ${model.currency}`,
    );
  const recorded = (await listRecordedBounds(tx, [subscription_id])).get(subscription_id);
  const zones = await listZones(tx);
  const period = periodStartingIn(named, subscription.billing_anchor_day, zones, recorded);
  const due = duePeriod(withModel(subscription, model, undefined), period, zones);
  const { done, failed } = await meterDue(ctx, [due]);
  const [month] = done;
  if (!month) throw new AppError("conflict", `Cannot quote a month: ${failed[0]?.message}`);
  if (month.used.length === 0) throw invalid("/period", "has no day on which the subscription lived");
  return month;
}

/** The lines of a month, as a bill would have them. Errors: conflict. */
function linesOf(month: MeteredPeriod): readonly BillLine[] {
  const { done, failed } = rate([month]);
  if (!done[0]) throw new AppError("conflict", `Cannot quote a month: ${failed[0]?.message}`);
  // Of a commitment to a year a month has its share, as in a simulation of one month.
  return CommitmentYears.ofPeriods([month]).withLines(done[0]).lines;
}

function curveOf(
  month: MeteredPeriod,
  terms: PriceTerms,
  { to, points = LIMITS.quote_points, meter_id, match }: NonNullable<QuoteBillingModel["curve"]>,
): Quote["curve"] {
  if (meter_id === undefined && match !== undefined)
    throw invalid("/curve/match", "must be left out without a meter_id");
  const of =
    meter_id === undefined ? mainQuantity(terms) : meteredBy(terms, { meter_id, match }, "/curve/meter_id");
  const bends = bendsOf(terms, of);
  const is_whole = of.meter_id === null && takesCalls(terms);
  const end = to === undefined ? defaultEnd(quantityIn(month, of), bends) : readEnd(terms, of, to);
  const units = curveUnits(end, { points, bends, digits: is_whole ? 0 : 6 });
  return {
    meter_id: of.meter_id,
    match: of.match,
    points: units.map((at) => ({
      units: at,
      total: total(linesOf(withQuantity(month, of, at)), terms.currency),
    })),
  };
}

/** Twice what is quoted or, of nothing, twice the last bend. */
function defaultEnd(quoted: Decimal, bends: readonly Decimal[]): Decimal {
  const last = bends.reduce((a, b) => (compare(a, b) > 0 ? a : b), "0");
  const middle = compare(quoted, "0") > 0 ? quoted : last;
  return isZero(middle) ? "100" : multiply(middle, "2");
}

function readEnd(terms: PriceTerms, { meter_id }: QuantityOf, to: string | number): Decimal {
  const path = "/curve/to";
  const end = meter_id === null ? readUnits(terms, to, path) : readQuantity(to, path);
  if (isZero(end)) throw invalid(path, "must be more than 0");
  return end;
}

/** Errors: invalid. */
function readUnits(terms: PriceTerms, given: string | number, path: string): Decimal {
  const units = readQuantity(given, path);
  if (takesCalls(terms) && !Number.isSafeInteger(Number(units)))
    throw invalid(
      path,
      `must be a whole number up to ${Number.MAX_SAFE_INTEGER}: the plan takes a credit for each call`,
    );
  return units;
}

function readQuantity(given: string | number, path: string): Decimal {
  const quantity = readDecimal(given, path);
  if (compare(quantity, "0") < 0) throw invalid(path, "must be 0 or more");
  return quantity;
}

/** Errors: invalid for a meter by which the model charges nothing. */
function meteredBy(
  terms: PriceTerms,
  { meter_id, match }: { meter_id: number; match?: Record<string, string> | undefined },
  path: string,
): QuantityOf {
  if (!terms.charges.some((charge) => charge.meter_id === meter_id))
    throw invalid(
      path,
      "names no meter of the model's charges or credit rates; its own type is quoted by units",
    );
  return { meter_id, match: match ?? null };
}

function toQuoteLine(line: BillLine): QuoteLine {
  const { billing_model_id: _, event_count: __, usage_digest: ___, skipped_events: ____, ...shown } = line;
  return shown;
}
