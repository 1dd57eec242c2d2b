import { sum } from "../../core/money.ts";
import { dayOf, daysOf, type Period } from "../../core/periods.ts";
import { earlier, type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { Charge } from "../billing_models/charge_model.ts";
import type { PriceTerms } from "../billing_models/price_terms.ts";
import type { BillLine } from "./bill_line.ts";
import { type ChargedUsage, chargeLines } from "./charge_lines.ts";
import type { Segment } from "./segments.ts";

/** What an add-on charges: a charge whose code, name and quantity are those of the add-on and its booking. */
export interface AddOnTerms {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly charge: Omit<Charge, "code" | "name" | "quantity">;
}

/** An add-on that a subscription has booked, `[from, until)`; null: for good. */
export interface BookedAddOn {
  readonly add_on: AddOnTerms;
  readonly quantity: string;
  readonly from: IsoInstant;
  readonly until: IsoInstant | null;
}

/** A part of a period with an add-on. The segment's model has the add-on's charge alone. */
export interface AddOnStretch {
  readonly add_on_id: number;
  readonly segment: Segment;
}

/** A stretch with what the add-on's meter measured of it. */
export interface UsedAddOn extends AddOnStretch {
  readonly charges?: ReadonlyMap<string, ChargedUsage>;
}

/** A plan's terms with an add-on as their only charge. */
export function addOnTerms(model: PriceTerms, add_on: AddOnTerms, quantity: string): PriceTerms {
  const { code, name, charge } = add_on;
  const of_booking = { ...charge, code, name, quantity: charge.type === "fixed" ? quantity : null };
  return { ...model, name, meter_id: null, charges: [of_booking], commitment: null };
}

/**
 * The stretches of a period with add-ons: of each booking within the subscription's life, which `segments` fill.
 * Plan changes do not cut them. Every local day that a stretch touches is charged; where it goes on to the
 * subscription's end, the days are those of the fee. Bookings of one add-on with the same bounds are one stretch with
 * their quantities together. Decision 0247.
 */
export function addOnStretches(
  period: Period,
  booked: readonly BookedAddOn[],
  segments: readonly Segment[],
): AddOnStretch[] {
  const [first, last] = [segments[0], segments.at(-1)];
  if (!first || !last) return [];
  const bounded = booked.flatMap(({ add_on, quantity, from, until }) => {
    const start = later(instant(from), first.from);
    const end = until === null ? last.to : earlier(instant(until), last.to);
    return Temporal.Instant.compare(start, end) < 0 ? [{ add_on, quantity, start, end }] : [];
  });
  const groups = Map.groupBy(bounded, ({ add_on, start, end }) => `${add_on.id} ${iso(start)} ${iso(end)}`);
  return [...groups.values()].flatMap((group) => {
    const [booking] = group;
    if (!booking) return [];
    const { add_on, start, end } = booking;
    const in_force = segments.findLast(({ from }) => Temporal.Instant.compare(from, start) <= 0) ?? first;
    const first_day = dayOf(start, period);
    const end_day = end.equals(last.to)
      ? last.first_day.add({ days: last.proration.numerator })
      : dayOf(end.subtract({ nanoseconds: 1 }), period).add({ days: 1 });
    const proration = { numerator: first_day.until(end_day).days, denominator: daysOf(period) };
    const model = addOnTerms(in_force.model, add_on, sum(group.map(({ quantity }) => quantity)));
    return [{ add_on_id: add_on.id, segment: { model, from: start, to: end, first_day, proration } }];
  });
}

/** The lines of a stretch with an add-on: one for a fixed charge, else one for each price that has events. */
export function addOnLines({ add_on_id, ...used }: UsedAddOn): BillLine[] {
  const prefix = `${used.segment.model.name}: `;
  return chargeLines([used]).map((line) => ({
    ...line,
    kind: "add_on",
    description: line.description.slice(prefix.length),
    add_on_id,
  }));
}
