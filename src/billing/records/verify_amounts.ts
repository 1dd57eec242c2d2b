import { isDeepStrictEqual } from "node:util";
import { compare, type Decimal, multiply, roundMoney, subtract, sum } from "../../core/money.ts";
import { instant } from "../../core/time.ts";
import { type PriceTerms, withoutPrices } from "../billing_models/price_terms.ts";
import { lineKey } from "../rating/adjustment.ts";
import type { Difference } from "./model.ts";
import type { RecordedPart } from "./queries.ts";
import { addOnLines } from "../rating/add_on_lines.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { chargeLines, commitmentLines, committed, titleOf } from "../rating/charge_lines.ts";
import { COMMITTED } from "../rating/commitment_years.ts";
import type { ModelOf } from "./terms_of_lines.ts";
import { billedUnits, limitLines, rateStretch, total, type UsedSegment } from "../rating/charges.ts";
import { feeLine } from "../rating/fees.ts";
import type { Proration, Segment } from "../rating/segments.ts";

/** The amounts of a record, and the lines that they follow from. */
export interface RecordAmounts {
  readonly currency: string;
  readonly billedUnits: number;
  readonly totalCharges: Decimal;
  readonly lines: readonly BillLine[];
}

/**
 * The differences in prices, amounts and sums of a period's last record: each line's price by its billing model, its
 * amount by the sum of all lines of its charge less what those before it charged, the total and the units by its
 * lines. `records` are all of the period up to the record, first to last, `elsewhere` the lines on record of the year's
 * other periods before it, where a line is of a commitment to a year. Quantities of usage are checked against
 * the events by `assertionsOf`. Decision 0129.
 */
export function differencesOf(
  record: RecordAmounts,
  records: readonly RecordedPart[],
  modelOf: ModelOf,
  elsewhere: readonly BillLine[] = [],
): Difference[] {
  const { currency, lines } = record;
  const charges = chargesOf(records.flatMap((part) => part.lines));
  const before = Map.groupBy(
    records.slice(0, -1).flatMap((part) => part.lines),
    lineKey,
  );
  const priced = lines.flatMap((line, i) => {
    const model = modelOf(line.billing_model_id, line.add_on_id);
    const expected = line.commitment_interval
      ? yearlyOf(line, charges, model, elsewhere)
      : priceOf(line, charges, line.trial ? withoutPrices(model) : model);
    const charged = sum((before.get(lineKey(line)) ?? []).map(({ amount }) => amount));
    const amounts = expected.amounts.map((amount) => roundMoney(subtract(amount, charged), currency));
    return [
      ...differingFields(`/lines/${i}/unit_price`, expected.unit_prices, line.unit_price),
      ...differingFields(`/lines/${i}/amount`, amounts, line.amount),
    ];
  });
  return [
    ...priced,
    // A number on the wire, which can't hold every decimal.
    ...differingFields("/billedUnits", [String(Number(billedUnits(lines)))], String(record.billedUnits)),
    ...differingFields("/totalCharges", [total(lines, currency)], record.totalCharges),
  ];
}

function differingFields(
  path: string,
  expected: readonly (Decimal | null)[],
  actual: Decimal | null,
): Difference[] {
  const isSame = (one: Decimal | null) =>
    one === null || actual === null ? one === actual : compare(one, actual) === 0;
  return expected.some(isSame) ? [] : [{ path, expected: expected[0] ?? null, actual }];
}

/** All lines of a charge as one, with the description of the last. */
interface Charged extends BillLine {
  readonly is_reversed: boolean;
}

function chargesOf(lines: readonly BillLine[]): Map<string, Charged> {
  return new Map(
    [...Map.groupBy(lines, lineKey)].map(([key, group]) => {
      const whole = group.reduce((all, line) => ({
        ...line,
        quantity: sum([all.quantity, line.quantity]),
        amount: sum([all.amount, line.amount]),
        event_count: (all.event_count ?? 0) + (line.event_count ?? 0),
      }));
      // The first line begins with the model's name, whatever that is.
      const is_reversed = group.length > 1 && whole.description.startsWith("Reversal: ");
      return [key, { ...whole, is_reversed }];
    }),
  );
}

/** The possible prices and amounts of a line: more than one where they depend on its days. */
interface Price {
  readonly unit_prices: readonly (Decimal | null)[];
  readonly amounts: readonly Decimal[];
}

function priceOf(line: BillLine, charges: ReadonlyMap<string, Charged>, model: PriceTerms): Price {
  const charge = charges.get(lineKey(line)) ?? { ...line, is_reversed: false };
  if (charge.is_reversed) return { unit_prices: [line.unit_price], amounts: ["0"] };
  if (line.kind === "setup")
    return { unit_prices: [model.setup_fee], amounts: [roundMoney(model.setup_fee, model.currency)] };
  if (line.kind === "fee") {
    const expected = feeLine(segmentOf(line, model, line.proration ?? ONE_DAY).segment);
    return { unit_prices: [expected?.unit_price ?? line.unit_price], amounts: [expected?.amount ?? "0"] };
  }
  if (line.kind === "overage") {
    const unit_price = model.credit_plan?.overage_rate ?? null;
    const amount = roundMoney(multiply(charge.quantity, unit_price ?? "0"), model.currency);
    return { unit_prices: [unit_price], amounts: [amount] };
  }
  const limit = LIMITS_ON[line.kind];
  if (limit) return limitOf(line, charges, model, limit);
  if (line.kind === "add_on") return addOnOf(line, charge, model);
  if (line.kind === "charge" && line.event_count === null) return fixedOf(line, model);
  // A usage line does not show whether its stretch owns a day, without which no tier's flat fee is charged.
  const days = line.proration ? [line.proration] : [ONE_DAY, NO_DAY];
  const rated = days.flatMap((proration) =>
    stretchesWith(charge, charges, model, proration).map(line.kind === "charge" ? chargeLines : rateStretch),
  );
  const rated_lines = rated.map((lines) => lines.find((one) => lineKey(one) === lineKey(line)));
  return {
    unit_prices: isContinued(line, model)
      ? [isFree(line, model) ? "0" : null]
      : rated_lines.map((one) => (one ? one.unit_price : line.unit_price)),
    amounts: rated_lines.map((one) => one?.amount ?? "0"),
  };
}

const ONE_DAY: Proration = { numerator: 1, denominator: 1 };
const NO_DAY: Proration = { numerator: 0, denominator: 1 };

/**
 * The stretch under one plan that a charge belongs to, up to it, by its usage lines: more than one where lines of
 * stretches that no longer exist, and in which nothing was used, may be in between.
 */
function stretchesWith(
  charge: Charged,
  charges: ReadonlyMap<string, Charged>,
  model: PriceTerms,
  proration: Proration,
): [UsedSegment, ...UsedSegment[]][] {
  const kind = charge.kind === "charge" ? "charge" : "usage";
  const usage = [...charges.values()]
    .filter(
      (line) =>
        line.kind === kind &&
        line.billing_model_id === charge.billing_model_id &&
        line.charge_code === (kind === "charge" ? charge.charge_code : undefined) &&
        isDeepStrictEqual(line.match, kind === "charge" ? charge.match : undefined) &&
        line.trial === charge.trial &&
        !line.is_reversed,
    )
    .toSorted((a, b) => (a.from < b.from ? -1 : 1));
  if (charge.kind !== kind) return [[segmentOf(charge, model, proration)]];
  const none = { ...proration, numerator: 0 };
  const before = isContinued(charge, model) ? usage.slice(0, usage.indexOf(charge)) : [];
  const begins = before.flatMap((line, i) => (isContinued(line, model) ? [] : [i]));
  // The line of a beginning in which nothing was used may be missing.
  return (begins.length > 0 ? begins : [0]).map((i) => {
    const [first, ...rest] = [...before.slice(i), charge];
    return [segmentOf(first, model, proration), ...rest.map((line) => segmentOf(line, model, none))];
  });
}

function segmentOf(line: BillLine, model: PriceTerms, proration: Proration): UsedSegment {
  const { from, to, quantity, charge_code, match } = line;
  const event_count = line.event_count ?? 0;
  const first_day = instant(from).toZonedDateTimeISO("UTC").toPlainDate();
  const trial = line.trial ? { is_trial: true as const } : {};
  const segment = { model, from: instant(from), to: instant(to), first_day, proration, ...trial };
  const usage = { units: quantity, event_count, corrections: 0, usage_digest: "" };
  const charge = model.charges.find(({ code }) => code === charge_code);
  if (charge === undefined) return { segment, usage };
  const part = charge.prices.findIndex((price) => isDeepStrictEqual(price.match, match));
  const skipped_events = line.skipped_events ?? 0;
  const measured = { part, quantity, event_count, skipped_events, digest: "" };
  // Where quantities of segments do not add up, no line continues another.
  const charges = new Map([[charge.code, { is_additive: true, parts: [measured] }]]);
  return { segment, usage, charges };
}

/** A fixed charge, by the days of its line. */
function fixedOf(line: BillLine, model: PriceTerms): Price {
  const found = chargeLines([segmentOf(line, model, line.proration ?? ONE_DAY)]).find(
    (one) => lineKey(one) === lineKey(line),
  );
  return { unit_prices: [found?.unit_price ?? null], amounts: [found?.amount ?? "0"] };
}

/** An add-on's stretch, with all that is on record of it. */
function addOnOf(line: BillLine, charge: BillLine, model: PriceTerms): Price {
  const { quantity, proration } = charge;
  const charges = model.charges.map((own) => (own.type === "fixed" ? { ...own, quantity } : own));
  const used = segmentOf(charge, { ...model, charges }, proration ?? ONE_DAY);
  const found = addOnLines({ add_on_id: line.add_on_id ?? 0, ...used }).find(
    (one) => lineKey(one) === lineKey(line),
  );
  return { unit_prices: [found ? found.unit_price : line.unit_price], amounts: [found?.amount ?? "0"] };
}

/** What a limit is taken against, and how. */
interface Limit {
  readonly counted: readonly BillLine["kind"][];
  readonly linesOf: (stretch: Segment, charged: Decimal) => BillLine[];
}

const ON_USAGE: Limit = { counted: ["usage"], linesOf: limitLines };
const ON_CHARGES: Limit = {
  counted: COMMITTED,
  linesOf: commitmentLines,
};

const LIMITS_ON: Partial<Record<BillLine["kind"], Limit>> = {
  maximum_cap: ON_USAGE,
  minimum_true_up: ON_USAGE,
  commitment_cap: ON_CHARGES,
  commitment_true_up: ON_CHARGES,
};

/** What the bills of a period have of a commitment to a year. */
function yearlyOf(
  line: BillLine,
  charges: ReadonlyMap<string, Charged>,
  model: PriceTerms,
  elsewhere: readonly BillLine[],
): Price {
  const { kind, billing_model_id, proration } = line;
  const { commitment, currency } = model;
  const is_reversed = charges.get(lineKey(line))?.is_reversed ?? false;
  if (is_reversed || commitment === null || (kind !== "commitment_cap" && kind !== "commitment_true_up"))
    return { unit_prices: [null], amounts: ["0"] };
  const of_year = [...charges.values(), ...elsewhere].filter(
    (one) => one.billing_model_id === billing_model_id,
  );
  const counted = of_year.filter((one) => COMMITTED.includes(one.kind));
  const wanted = committed({ model, proration: proration ?? ONE_DAY }, commitment, total(counted, currency));
  const billed = elsewhere.filter((one) => one.kind === kind && one.billing_model_id === billing_model_id);
  return { unit_prices: [null], amounts: [subtract(wanted[kind], total(billed, currency))] };
}

/** A limit on what the lines between its bounds come to, all that is on record. */
function limitOf(
  line: BillLine,
  charges: ReadonlyMap<string, Charged>,
  model: PriceTerms,
  { counted, linesOf }: Limit,
): Price {
  const inside = [...charges.values()].filter(
    ({ kind, billing_model_id, from, to }) =>
      counted.includes(kind) &&
      billing_model_id === line.billing_model_id &&
      line.from <= from &&
      to <= line.to,
  );
  const stretch = segmentOf(line, model, line.proration ?? ONE_DAY).segment;
  const found = linesOf(stretch, total(inside, model.currency)).find(({ kind }) => kind === line.kind);
  return { unit_prices: [found ? null : line.unit_price], amounts: [found?.amount ?? "0"] };
}

/** Whether a line is of a charge's events that none of its prices fits, where these are free. */
function isFree({ charge_code, match }: BillLine, { charges }: PriceTerms): boolean {
  const charge = charges.find(({ code }) => code === charge_code);
  return charge?.unmatched === "free" && match === null;
}

/** Whether a usage line continues the tiers of the one before. A charge's name may end like that, too. */
function isContinued({ description, charge_code, match }: BillLine, { charges }: PriceTerms): boolean {
  const charge = charges.find(({ code }) => code === charge_code);
  const title = charge ? titleOf(charge, match ?? null) : "";
  return description.endsWith(`${title}, continued`);
}
