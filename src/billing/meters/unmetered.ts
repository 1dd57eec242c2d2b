import { type Static, Type } from "@sinclair/typebox";
import { sum } from "../../core/money.ts";
import { earlier, later } from "../../core/time.ts";
import { ALL_USAGE, type Measured, type MeterUse } from "../../usage_store/meter.ts";
import { DecimalText } from "../decimals.ts";
import type { PriceTerms } from "../billing_models/price_terms.ts";
import type { AddOnStretch } from "../rating/add_on_lines.ts";
import type { Segment } from "../rating/segments.ts";
import type { Meter } from "./model.ts";

/** Usage that no charge and no priced own type counted. Decision 0250. */
export const Unmetered = Type.Object(
  { event_count: Type.Integer(), usage: DecimalText },
  { title: "Unmetered" },
);
export type Unmetered = Static<typeof Unmetered>;

/** A part of a segment in which the same meters count. */
interface MeteredPart {
  readonly from: Temporal.Instant;
  readonly to: Temporal.Instant;
  readonly meter_ids: readonly number[];
}

/**
 * The parts of a segment in which usage may be left over: none where nothing of its model is by usage, as a flat one with
 * fixed charges, or its own type counts all.
 */
export function unmeteredParts(
  { model, from, to }: Segment,
  add_ons: readonly AddOnStretch[],
): MeteredPart[] {
  const own = ownMeters(model);
  if (model.charges.length === 0 || own === "all") return [];
  const meter_ids = [...own, ...chargedMeters(model)];
  if (meter_ids.length === 0) return [];
  const booked = add_ons.flatMap(({ segment }) => {
    const part = { from: later(segment.from, from), to: earlier(segment.to, to), model: segment.model };
    return Temporal.Instant.compare(part.from, part.to) < 0 ? [part] : [];
  });
  const cuts = [from, to, ...booked.flatMap((part) => [part.from, part.to])]
    .toSorted((a, b) => Temporal.Instant.compare(a, b))
    .filter((at, i, all) => i === 0 || !at.equals(all[i - 1] ?? at));
  return cuts.slice(1).map((end, i) => {
    const start = cuts[i] ?? end;
    const inside = booked.filter(
      (part) =>
        Temporal.Instant.compare(part.from, start) <= 0 && Temporal.Instant.compare(end, part.to) <= 0,
    );
    const all = [...meter_ids, ...inside.flatMap((part) => chargedMeters(part.model))];
    return { from: start, to: end, meter_ids: [...new Set(all)].toSorted((a, b) => a - b) };
  });
}

/** What the own type takes money or credits for; a flat one takes none. */
function ownMeters({ billing_type, meter_id, credit_plan }: PriceTerms): readonly number[] | "all" {
  if (billing_type === "flat") return [];
  if (billing_type === "credit" && credit_plan?.rates) return credit_plan.rates.map((rate) => rate.meter_id);
  return meter_id === null ? "all" : [meter_id];
}

function chargedMeters({ charges }: PriceTerms): number[] {
  return charges.flatMap(({ meter_id }) => meter_id ?? []);
}

/** What the usage store has to measure of a part. */
export function unmeteredUse(meters: readonly Meter[]): MeterUse {
  return { meter: ALL_USAGE, parts: { matches: [] }, except: meters };
}

/** What is left over of all parts; undefined where nothing is. */
export function sumUnmetered(parts: readonly Measured[]): Unmetered | undefined {
  const event_count = parts.reduce((all, part) => all + part.event_count, 0);
  if (event_count === 0) return undefined;
  return { event_count, usage: sum(parts.map(({ quantity }) => quantity)) };
}
