import { interleave, ROWS_A_TURN } from "../../core/chunk.ts";
import { instant } from "../../core/time.ts";
import { NO_DIGEST } from "../../usage_store/digest.ts";
import type { Measured, MeasureQuery, MeterUse, MeterWindow } from "../../usage_store/meter.ts";
import type { UsageStore, WindowTotal } from "../../usage_store/port.ts";
import { LIMITS } from "../limits.ts";
import { isDeepStrictEqual } from "node:util";
import type { PriceTerms } from "../billing_models/price_terms.ts";
import type { BillLine } from "../rating/bill_line.ts";
import type { Meter } from "./model.ts";
import type { ChargedUsage } from "../rating/charge_lines.ts";
import type { AddOnStretch, UsedAddOn } from "../rating/add_on_lines.ts";
import type { UsedSegment } from "../rating/charges.ts";
import type { Segment } from "../rating/segments.ts";
import { sumUnmetered, type Unmetered, unmeteredParts, unmeteredUse } from "./unmetered.ts";

const ADDITIVE: readonly Meter["aggregation"][] = ["count", "sum", "weighted_sum"];
const GROWING: readonly Meter["aggregation"][] = ["count", "sum"];

/** Whether what is measured of two stretches adds up to what it is of both, and whether more time brings more of it. */
const growthOf = ({ aggregation }: Meter) => ({
  is_additive: ADDITIVE.includes(aggregation),
  grows: GROWING.includes(aggregation),
});

/** A period of a subscription with its segments. */
interface SegmentedPeriod {
  readonly subscription: { readonly id: number; readonly started_at: string };
  readonly period: { readonly from: Temporal.Instant; readonly to: Temporal.Instant };
  readonly segments: readonly Segment[];
  readonly add_ons?: readonly AddOnStretch[];
}

/** Whose a line is: what levels and their averages need. */
export type LineOf = Omit<SegmentedPeriod, "segments" | "add_ons">;

/** What the usage store has to measure of segments, and how it is read back. */
export class ChargeMeasures {
  readonly #uses: MeterUse[] = [];
  readonly #windows: MeterWindow[] = [];
  readonly #meters: ReadonlyMap<number, Meter>;
  readonly #useOf = new Map<string, number>();
  /** Of each window, those who asked for it. */
  readonly #readers: ((measured: readonly Measured[]) => void)[][] = [];
  readonly #positions = new Map<string, number>();
  readonly #charges = new Map<Segment, Map<string, ChargedUsage>>();
  readonly #own = new Map<Segment, Measured | undefined>();

  constructor(meters: ReadonlyMap<number, Meter>) {
    this.#meters = meters;
  }

  /** Adds what the models of a period's segments and its add-ons count by meters. */
  add({ subscription, period, segments, add_ons = [] }: SegmentedPeriod): void {
    for (const segment of segments) {
      const { model } = segment;
      const window = windowOf(segment, { subscription, period });
      if (model.meter_id !== null) {
        const use = this.#use(model.meter_id, []);
        this.#ask({ ...window, use }, ([measured]) => this.#own.set(segment, measured));
      }
      this.#addCharges(segment, window);
    }
    for (const { segment } of add_ons) this.#addCharges(segment, windowOf(segment, { subscription, period }));
  }

  /** Adds what nothing counts of a period; the result reads it once it was asked for. */
  addUnmetered({
    subscription,
    period,
    segments,
    add_ons = [],
  }: SegmentedPeriod): () => Unmetered | undefined {
    const found: Measured[] = [];
    for (const part of segments.flatMap((segment) => unmeteredParts(segment, add_ons))) {
      const meters = part.meter_ids.map((id) => this.#meter(id));
      const use = this.#useBy(`except ${part.meter_ids.join()}`, () => unmeteredUse(meters));
      const window = windowOf(part, { subscription, period });
      this.#ask({ ...window, use }, (measured) => found.push(...measured));
    }
    return () => sumUnmetered(found);
  }

  #addCharges(segment: Segment, window: Omit<MeterWindow, "use">): void {
    const charges = new Map<string, ChargedUsage>();
    this.#charges.set(segment, charges);
    for (const { code, meter_id, prices } of segment.model.charges) {
      if (meter_id === null) continue;
      const matches = prices.map(({ match }) => match);
      const use = this.#use(meter_id, matches);
      const growth = growthOf(this.#meter(meter_id));
      this.#ask({ ...window, use }, (parts) => charges.set(code, { ...growth, parts }));
    }
  }

  /** An add-on's stretch with what its meter measured. */
  usedAddOn(stretch: AddOnStretch): UsedAddOn {
    return { ...stretch, charges: this.#charges.get(stretch.segment) ?? new Map() };
  }

  /** Adds a line that a meter counts; the result reads what it comes to, once it was asked for. */
  addLine(line: BillLine, model: PriceTerms, whose: LineOf): () => WindowTotal {
    let found: Measured | undefined;
    const window = windowOf({ from: instant(line.from), to: instant(line.to) }, whose);
    const charge = model.charges.find(({ code }) => code === line.charge_code);
    const meter_id = charge?.meter_id ?? model.meter_id;
    if (meter_id === null)
      throw new Error(`Cannot measure a line: billing model ${model.id} has no meter for it`);
    const matches = charge?.prices.map(({ match }) => match) ?? [];
    const part = matches.findIndex((match) => isDeepStrictEqual(match, line.match));
    const use = this.#use(meter_id, matches);
    this.#ask({ ...window, use }, (measured) => {
      found = measured.find((candidate) => candidate.part === part);
    });
    return () => ({
      units: found?.quantity ?? "0",
      event_count: found?.event_count ?? 0,
      corrections: found?.corrections ?? 0,
      digest: found?.digest ?? NO_DIGEST,
    });
  }

  /** Measures all by one question. Errors: those of the usage store. */
  async ask(
    usage: Pick<UsageStore, "measure">,
    stored_by: Pick<MeasureQuery, "company_id" | "created_until_ms" | "last_seq" | "without_digests">,
    timeout_ms: number,
  ): Promise<void> {
    if (this.#windows.length === 0) return;
    const [uses, windows] = [this.#uses, this.#windows];
    const max_parts = windows.length * (LIMITS.charge_prices + 1);
    const measured = await usage.measure({ ...stored_by, uses, windows, max_parts }, timeout_ms);
    const readers = this.#readers.map((of_window, i) => ({ of_window, parts: measured[i] ?? [] }));
    for await (const some of interleave(readers, ROWS_A_TURN))
      for (const { of_window, parts } of some) for (const read of of_window) read(parts);
  }

  /** A segment with all of its usage; `counted` is that of its events. */
  used(segment: Segment, counted: UsedSegment["usage"]): UsedSegment {
    const charges = this.#charges.get(segment) ?? new Map<string, ChargedUsage>();
    if (segment.model.meter_id === null) return { segment, charges, usage: counted };
    const own = this.#own.get(segment);
    const usage = {
      units: own?.quantity ?? "0",
      event_count: own?.event_count ?? 0,
      corrections: own?.corrections ?? 0,
      usage_digest: own?.digest ?? NO_DIGEST,
      skipped_events: own?.skipped_events ?? 0,
      ...growthOf(this.#meter(segment.model.meter_id)),
    };
    return { segment, charges, usage };
  }

  /** Charges that divide the events of a meter alike share a use, whatever they cost. */
  #use(meter_id: number, matches: readonly Readonly<Record<string, string>>[]): number {
    const key = `${meter_id} ${JSON.stringify(matches)}`;
    return this.#useBy(key, () => ({ meter: this.#meter(meter_id), parts: { matches } }));
  }

  #useBy(key: string, make: () => MeterUse): number {
    const known = this.#useOf.get(key);
    if (known !== undefined) return known;
    const use = this.#uses.push(make()) - 1;
    this.#useOf.set(key, use);
    return use;
  }

  #meter(id: number): Meter {
    const meter = this.#meters.get(id);
    if (meter === undefined) throw new Error(`Cannot measure usage: meter ${id} is not there`);
    return meter;
  }

  /** A window that was asked for before is measured once. */
  #ask(window: MeterWindow, read: (measured: readonly Measured[]) => void): void {
    const { use, subscription_id, start_ms, end_ms, since_ms, whole_ms } = window;
    const key = [use, subscription_id, start_ms, end_ms, since_ms, whole_ms].join();
    const position = this.#positions.get(key) ?? this.#windows.push(window) - 1;
    this.#positions.set(key, position);
    (this.#readers[position] ??= []).push(read);
  }
}

function windowOf(
  { from, to }: { from: Temporal.Instant; to: Temporal.Instant },
  { subscription, period }: LineOf,
): Omit<MeterWindow, "use"> {
  const [start_ms, end_ms] = [from.epochMilliseconds, to.epochMilliseconds];
  return {
    subscription_id: subscription.id,
    start_ms,
    end_ms,
    since_ms: Math.min(instant(subscription.started_at).epochMilliseconds, start_ms),
    whole_ms: period.to.epochMilliseconds - period.from.epochMilliseconds,
  };
}
