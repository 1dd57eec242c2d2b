import { type Bounds, periodContaining, type ZoneTimeline } from "../../core/periods.ts";
import type { Calendar, TotalWindow } from "../../usage_store/running_totals.ts";
import type { Entitlement } from "../../billing/features/entitlement_model.ts";

export type Window = NonNullable<Entitlement["window"]>;

/** Whose windows they are. */
export interface WindowPlace {
  readonly zones: ZoneTimeline;
  readonly billing_anchor_day: number;
  /** The start of the subscription. */
  readonly since_ms: number;
  /** Bounds on record of billing periods around the instants that are asked. */
  readonly recorded: readonly Bounds[];
}

/** After every timestamp that can be stored. */
const END_OF_LIFE_MS = 253_402_300_800_000;

/** The windows of a kind: hours, days and weeks of the company's present zone, billing periods as their records have them, or all time. */
export function calendarOf(window: Window, place: WindowPlace): Calendar {
  const cut = CUTS[window](place);
  let last: TotalWindow | undefined;
  return {
    name: nameOf(window, place),
    at(ms) {
      // Instants come mostly in order.
      if (last === undefined || ms < last.start_ms || ms >= last.end_ms) last = cut(ms);
      return last;
    },
  };
}

/** The name of a calendar: equal windows have an equal one. */
export function nameOf(window: Window, place: WindowPlace): string {
  const { zones, since_ms } = place;
  if (window === "life") return `life ${since_ms}`;
  if (window !== "month") return `${window} ${zoneOf(zones)}`;
  const bounds = place.recorded.map((one) => boundsName(one, place)).join("");
  return `month ${monthsName(place)}${bounds}`;
}

type Months = Pick<WindowPlace, "zones" | "billing_anchor_day">;

function monthsName({ zones, billing_anchor_day }: Months): string {
  const history = zones.map(({ timezone, from }) => `${timezone} ${from?.epochMilliseconds ?? ""}`);
  return `${billing_anchor_day} ${history.join(", ")}`;
}

/** The names of bounds that were met: few, since subscriptions share them. */
const bounds_names = new Map<string, string>();
const MAX_NAMES = 10_000;

/** Nothing for bounds that the zones cut too, as almost all: a closed month must not make another calendar. */
function boundsName(bounds: Bounds, place: Months): string {
  const [from, to] = [bounds.from.epochMilliseconds, bounds.to.epochMilliseconds];
  const key = `${from} ${to} ${monthsName(place)}`;
  const known = bounds_names.get(key);
  if (known !== undefined) return known;
  const cut = periodContaining(bounds.from, place.billing_anchor_day, place.zones);
  const name = cut.from.equals(bounds.from) && cut.to.equals(bounds.to) ? "" : `; ${from} to ${to}`;
  if (bounds_names.size >= MAX_NAMES) bounds_names.clear();
  bounds_names.set(key, name);
  return name;
}

const CUTS: Record<Window, (place: WindowPlace) => (ms: number) => TotalWindow> = {
  hour:
    ({ zones }) =>
    (ms) =>
      hourAt(zonedAt(ms, zones)),
  day:
    ({ zones }) =>
    (ms) =>
      daysFrom(zonedAt(ms, zones).startOfDay(), 1),
  week:
    ({ zones }) =>
    (ms) => {
      const day = zonedAt(ms, zones);
      return daysFrom(day.subtract({ days: day.dayOfWeek - 1 }).startOfDay(), 7);
    },
  month:
    ({ zones, billing_anchor_day, recorded }) =>
    (ms) => {
      const { from, to } = periodContaining(
        Temporal.Instant.fromEpochMilliseconds(ms),
        billing_anchor_day,
        zones,
        recorded,
      );
      return windowOf(from.epochMilliseconds, to.epochMilliseconds);
    },
  life:
    ({ since_ms }) =>
    () =>
      windowOf(since_ms, END_OF_LIFE_MS),
};

function zonedAt(ms: number, zones: ZoneTimeline): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zoneOf(zones));
}

function zoneOf(zones: ZoneTimeline): string {
  const zone = zones.at(-1);
  if (zone === undefined) throw new RangeError("Cannot cut windows: no time zone is given");
  return zone.timezone;
}

/** A local hour; one that a change of the clock cuts is two windows. */
function hourAt(at: Temporal.ZonedDateTime): TotalWindow {
  const offset_ms = at.offsetNanoseconds / 1e6;
  const local_ms = at.epochMilliseconds + offset_ms;
  const start_ms = local_ms - (((local_ms % 3_600_000) + 3_600_000) % 3_600_000) - offset_ms;
  const [before, after] = (["previous", "next"] as const).map((direction) => {
    const from = direction === "previous" ? at.add({ milliseconds: 1 }) : at;
    return from.getTimeZoneTransition(direction)?.epochMilliseconds;
  });
  return windowOf(
    Math.max(start_ms, before ?? start_ms),
    Math.min(start_ms + 3_600_000, after ?? Number.POSITIVE_INFINITY),
  );
}

function daysFrom(start: Temporal.ZonedDateTime, days: number): TotalWindow {
  return windowOf(start.epochMilliseconds, start.add({ days }).startOfDay().epochMilliseconds);
}

function windowOf(start_ms: number, end_ms: number): TotalWindow {
  return { start_ms, end_ms, whole_ms: end_ms - start_ms };
}
