// Bills worked out from docs/billing.md, in whole millionths, without the program's rating.

/** A plan as it is sold. Decimals are text, as they are sent. */
export interface Plan {
  type: "flat" | "per_unit" | "graduated" | "volume" | "package" | "credit";
  /** A month's fee. */
  fee: string;
  /** Of a unit, or of a package. */
  unit_price: string;
  free_units: string;
  tiers: readonly { up_to: string | null; unit_price: string; flat_fee: string }[];
  flat_on_zero: boolean;
  package_size: string;
  minimum: string | null;
  maximum: string | null;
  credits: number;
  /** Whether events take credits, not units. */
  by_call: boolean;
  overage_rate: string | null;
}

/** What a subscription is billed by. */
export interface Facts<P = Plan> {
  zone: string;
  anchor_day: number;
  started_ms: number;
  ends_ms: number | null;
  /** From the start on, in order. */
  timeline: readonly { plan: P; from_ms: number }[];
}

/** An event as it counts. */
export interface Used {
  timestamp: number;
  millionths: bigint;
}

/** A billing month: local days, and the instants of its midnights. */
export interface Month {
  first: Temporal.PlainDate;
  next: Temporal.PlainDate;
  from_ms: number;
  to_ms: number;
}

const ONE = 1_000_000n;
/** Millionths of a decimal text. */
const dec = (text: string): bigint => {
  const [, sign = "", whole = "0", part = ""] = /^(-?)(\d+)\.?(\d*)$/.exec(text) ?? [];
  const size = BigInt(whole + part.padEnd(6, "0"));
  return sign === "-" ? -size : size;
};
const most = (a: bigint, b: bigint) => (a > b ? a : b);
const least = (a: bigint, b: bigint) => (a < b ? a : b);
const ceil = (a: bigint, b: bigint) => (a <= 0n ? a / b : (a + b - 1n) / b);
/** a / b to the nearest whole, halves away from zero. */
const nearest = (a: bigint, b: bigint): bigint => (a < 0n ? -nearest(-a, b) : (2n * a + b) / (2n * b));

/** The billing months that a subscription lives in, up to an instant: none where it ends at its very start. */
export function monthsOf(
  { zone, anchor_day, started_ms, ends_ms }: Omit<Facts, "timeline">,
  until_ms: number,
): Month[] {
  if (ends_ms !== null && ends_ms <= started_ms) return [];
  const months: Month[] = [];
  const start = Temporal.Instant.fromEpochMilliseconds(started_ms).toZonedDateTimeISO(zone).toPlainDate();
  const at = (month: Temporal.PlainYearMonth) =>
    month.toPlainDate({ day: Math.min(anchor_day, month.daysInMonth) });
  const midnight = (day: Temporal.PlainDate) => day.toZonedDateTime(zone).epochMilliseconds;
  for (let month = start.toPlainYearMonth().subtract({ months: 1 }); ; month = month.add({ months: 1 })) {
    const [first, next] = [at(month), at(month.add({ months: 1 }))];
    const [from_ms, to_ms] = [midnight(first), midnight(next)];
    if (from_ms >= Math.min(until_ms, ends_ms ?? until_ms)) return months;
    if (to_ms > started_ms) months.push({ first, next, from_ms, to_ms });
  }
}

/** A stretch of time under one plan, with the local days that it owns. */
export interface Slice<P = Plan> {
  plan: P;
  from_ms: number;
  to_ms: number;
  days: number;
}

/** A month cut by the plans in force. */
export function slicesOf<P>({ zone, started_ms, ends_ms, timeline }: Facts<P>, month: Month): Slice<P>[] {
  const from = Math.max(month.from_ms, started_ms);
  const to = Math.min(month.to_ms, ends_ms ?? month.to_ms);
  const dayOf = (ms: number) =>
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDate();
  const slices = timeline
    .map(({ plan, from_ms }, i) => ({
      plan,
      from_ms: Math.max(from_ms, from),
      to_ms: Math.min(timeline[i + 1]?.from_ms ?? to, to),
    }))
    .filter((slice) => slice.from_ms < slice.to_ms)
    .map((slice) => ({ ...slice, first: dayOf(slice.from_ms), days: 0 }));
  // Day by day: each belongs to the plan that was the last to begin on it or before.
  const last = to < month.to_ms ? dayOf(to) : month.next.subtract({ days: 1 });
  for (let day = dayOf(from); Temporal.PlainDate.compare(day, last) <= 0; day = day.add({ days: 1 })) {
    const owner = slices.findLast(({ first }) => Temporal.PlainDate.compare(first, day) <= 0);
    if (owner) owner.days += 1;
  }
  return slices;
}

const sumOf = (used: readonly Used[]) => used.reduce((sum, { millionths }) => sum + millionths, 0n);

/** What so many units cost, in millionths squared; a plan without a day charges no flat fees. */
function usageCost(plan: Plan, units: bigint, owns_a_day: boolean): bigint {
  const billable = most(0n, units - dec(plan.free_units));
  if (plan.type === "per_unit") return billable * dec(plan.unit_price);
  if (plan.type === "package") return ceil(billable, dec(plan.package_size)) * ONE * dec(plan.unit_price);
  if (plan.type === "flat" || plan.type === "credit") return 0n;
  const flat = (tier: { flat_fee: string } | undefined) =>
    owns_a_day && tier ? dec(tier.flat_fee) * ONE : 0n;
  if (units === 0n) return plan.flat_on_zero ? flat(plan.tiers[0]) : 0n;
  if (plan.type === "volume") {
    const tier = plan.tiers.find(({ up_to }) => up_to === null || units <= dec(up_to));
    return units * dec(tier?.unit_price ?? "0") + flat(tier);
  }
  let [cost, below] = [0n, 0n];
  for (const tier of plan.tiers) {
    if (units <= below) break;
    const top = tier.up_to === null ? units : least(units, dec(tier.up_to));
    cost += (top - below) * dec(tier.unit_price) + flat(tier);
    below = top;
  }
  return cost;
}

/** What a month comes to, in cents: its fees, usage, limits and overage, each line rounded once. */
export function rateMonth(facts: Facts, month: Month, events: readonly Used[]): bigint {
  const slices = slicesOf(facts, month);
  const usedIn = ({ from_ms, to_ms }: Slice) =>
    events.filter(({ timestamp }) => timestamp >= from_ms && timestamp < to_ms);
  const days = BigInt(month.first.until(month.next).days);
  let all = 0n;
  for (const stretch of joined(slices)) {
    const { plan } = stretch[0];
    const own = BigInt(stretch.reduce((sum, slice) => sum + slice.days, 0));
    const share = (text: string) => nearest(dec(text) * own * 100n, days * ONE);
    if (own > 0n) all += share(plan.fee);
    // Free units, tiers and packages go on from one part to the next; each part below zero counts as none.
    const units = stretch.reduce((sum, slice) => sum + most(0n, sumOf(usedIn(slice))), 0n);
    let usage = nearest(usageCost(plan, units, own > 0n) * 100n, ONE * ONE);
    if (plan.maximum !== null) usage = least(usage, nearest(dec(plan.maximum) * 100n, ONE));
    if (plan.minimum !== null) usage = most(usage, share(plan.minimum));
    all += usage;
  }
  const over = creditsOver(slices, days, (slice) => {
    const used = usedIn(slice);
    const calls = used.reduce((count, { millionths }) => count + (millionths < 0n ? -1n : 1n), 0n);
    return { calls, units: sumOf(used) };
  });
  for (const stretch of joined(slices)) {
    const { type, overage_rate } = stretch[0].plan;
    if (type !== "credit" || overage_rate === null) continue;
    const credits = stretch.reduce((sum, slice) => sum + (over.get(slice) ?? 0n), 0n);
    all += nearest(credits * dec(overage_rate) * 100n, ONE);
  }
  return all;
}

/** Slices of one plan with nothing but days of others' between them that own no day: as if there had been no change. */
export function joined<S extends Slice<unknown>>(slices: readonly S[]): [S, ...S[]][] {
  const stretches: [S, ...S[]][] = [];
  for (const [i, slice] of slices.entries()) {
    const before = slices.findLast(
      (other, j) =>
        j < i && other.plan === slice.plan && slices.slice(j + 1, i).every(({ days }) => days === 0),
    );
    const own = before && stretches.find((stretch) => stretch.includes(before));
    if (own) own.push(slice);
    else stretches.push([slice]);
  }
  return stretches;
}

/**
 * The credits that slices take beyond those of the month: credits go by the days that are charged, usage takes those
 * given by then. `taken_in`: calls, and millionths of units.
 */
export function creditsOver<P extends Pick<Plan, "type" | "credits" | "by_call">>(
  slices: readonly Slice<P>[],
  month_days: bigint,
  taken_in: (slice: Slice<P>) => { calls: bigint; units: bigint },
): Map<Slice<P>, bigint> {
  const credit = slices.filter(({ plan }) => plan.type === "credit");
  let left = credit.reduce((sum, { days }) => sum + days, 0);
  let [largest, given, taken_before, taken] = [0, 0n, 0n, 0n];
  let [calls, units] = [0n, 0n];
  let dayless: number[] = [];
  const over = new Map<Slice<P>, bigint>();
  for (const slice of credit) {
    const { plan, days } = slice;
    dayless.push(plan.credits);
    if (days > 0) {
      // Of several upgrades on a day each adds its own rounded part.
      for (const monthly of dayless.filter((one) => one <= plan.credits)) {
        given += ceil(BigInt(Math.max(0, monthly - largest)) * BigInt(left), month_days);
        largest = Math.max(largest, monthly);
      }
      dayless = [];
      left -= days;
    }
    const now = taken_in(slice);
    if (plan.by_call) calls += now.calls;
    else units += now.units;
    const consumed = most(0n, calls) + most(0n, ceil(units, ONE));
    const more = most(0n, consumed - taken_before);
    const within = least(more, given - taken);
    over.set(slice, more - within);
    taken += within;
    // What is taken back was used last: overage first.
    let back = most(0n, taken_before - consumed);
    taken_before = consumed;
    for (const one of credit.slice(0, credit.indexOf(slice) + 1).toReversed()) {
      const part = least(back, over.get(one) ?? 0n);
      over.set(one, (over.get(one) ?? 0n) - part);
      back -= part;
    }
    taken -= back;
  }
  return over;
}
