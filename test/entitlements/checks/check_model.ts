// What a check answers, from all that has happened, written a second time and without src: quantities are millionths in
// bigint, windows are cut by arithmetic in a zone of a fixed offset.

export type Window = "hour" | "day" | "week" | "month" | "life";
export type Aggregation = "sum" | "count" | "min" | "max" | "unique" | "latest" | "weighted_sum";

export interface ModelMeter {
  readonly aggregation: Aggregation;
  /** The metadata key that it reads; the usage without one. */
  readonly reads?: string;
  /** Only events of this kind. */
  readonly kind?: string;
  readonly carry_over?: boolean;
}

export interface ModelLimit {
  readonly feature: string;
  readonly enabled: boolean;
  /** Millionths; null without a bound. */
  readonly limit: bigint | null;
  readonly window: Window;
  readonly hard: boolean;
  readonly per: string | null;
}

export interface ModelUse {
  readonly id: string;
  readonly ms: number;
  readonly usage: bigint;
  readonly metadata: Readonly<Record<string, string | number>>;
}

export interface ModelHold {
  readonly id: string;
  readonly feature: string;
  readonly units: bigint;
  readonly group: Readonly<Record<string, string>>;
  readonly ends_ms: number;
}

export interface ModelBooking {
  readonly quantity: bigint;
  readonly from_ms: number;
  readonly until_ms: number | null;
  readonly limits: readonly ModelLimit[];
}

/** A subscription with all that has happened to it. */
export interface ModelSubscription {
  readonly start_ms: number;
  readonly anchor_day: number;
  readonly offset_ms: number;
  ended: boolean;
  plan: readonly ModelLimit[];
  readonly own: Map<string, readonly ModelLimit[]>;
  readonly bookings: ModelBooking[];
  readonly events: Map<string, ModelUse>;
  readonly holds: Map<string, ModelHold>;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MILLION = 1_000_000n;

/** The limits of a feature that count at an instant. */
export function limitsOf(subscription: ModelSubscription, feature: string, now: number): ModelLimit[] {
  const { plan, own, bookings } = subscription;
  const base = (own.get(feature) ?? plan.filter((one) => one.feature === feature)).filter(
    ({ enabled }) => enabled,
  );
  const limits = [...base];
  for (const { quantity, from_ms, until_ms, limits: added } of bookings) {
    if (from_ms > now || (until_ms !== null && until_ms <= now)) continue;
    for (const more of added) {
      if (more.feature !== feature || !more.enabled) continue;
      const size = more.limit === null ? null : (more.limit * quantity) / MILLION;
      const at = limits.findIndex(({ window, per }) => window === more.window && per === more.per);
      const found = limits[at];
      if (found !== undefined) {
        const both = found.limit === null || size === null ? null : found.limit + size;
        limits[at] = { ...found, limit: both };
      } else if (base.length === 0) limits.push({ ...more, limit: size });
    }
  }
  return limits;
}

/** The window of a kind that holds an instant, in Unix ms. */
export function windowAt(
  window: Window,
  ms: number,
  { offset_ms, anchor_day, start_ms }: ModelSubscription,
): [from: number, to: number] {
  const local = ms + offset_ms;
  const every = (length: number, shift: number): [number, number] => {
    const from = Math.floor((local - shift) / length) * length + shift - offset_ms;
    return [from, from + length];
  };
  if (window === "hour") return every(HOUR, 0);
  if (window === "day") return every(DAY, 0);
  // 5 January 1970 was a Monday.
  if (window === "week") return every(7 * DAY, 4 * DAY);
  if (window === "life") return [start_ms, Number.MAX_SAFE_INTEGER];
  const begin = (month: number): number => {
    const days = new Date(Date.UTC(1970, month + 1, 0)).getUTCDate();
    return Date.UTC(1970, month, Math.min(anchor_day, days)) - offset_ms;
  };
  const date = new Date(local);
  let month = (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
  if (begin(month) > ms) month--;
  return [begin(month), begin(month + 1)];
}

/** What a meter counts of a window, in millionths; `group` names a metadata key and its value. */
function usedIn(
  { events, start_ms }: ModelSubscription,
  { aggregation, reads, kind, carry_over = false }: ModelMeter,
  [from, to]: [number, number],
  group: readonly [string, string] | null,
): bigint {
  const looks_back = aggregation === "weighted_sum" || carry_over;
  const counted = [...events.values()].filter(
    ({ ms, metadata }) =>
      ms >= (looks_back ? start_ms : from) &&
      ms < to &&
      (kind === undefined || metadata.kind === kind) &&
      (group === null || metadata[group[0]] === group[1]) &&
      (reads === undefined || metadata[reads] !== undefined),
  );
  const valueOf = ({ usage, metadata }: ModelUse): bigint =>
    reads === undefined ? usage : BigInt(metadata[reads] ?? 0) * MILLION;
  if (aggregation === "count") return BigInt(counted.length) * MILLION;
  if (aggregation === "unique")
    return BigInt(new Set(counted.map(({ metadata }) => metadata[reads ?? ""])).size) * MILLION;
  const values = counted.map(valueOf);
  if (aggregation === "sum") return values.reduce((sum, value) => sum + value, 0n);
  if (aggregation === "min" || aggregation === "max") {
    const ascending = values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    return (aggregation === "min" ? ascending[0] : ascending.at(-1)) ?? 0n;
  }
  if (aggregation === "latest") {
    const last = counted.toSorted((a, b) => a.ms - b.ms || (a.id < b.id ? -1 : 1)).at(-1);
    return last === undefined ? 0n : valueOf(last);
  }
  const area = counted.reduce((all, one) => all + valueOf(one) * BigInt(to - Math.max(one.ms, from)), 0n);
  const [size, whole] = [area < 0n ? -area : area, BigInt(to - from)];
  const rounded = (2n * size + whole) / (2n * whole);
  return area < 0n ? -rounded : rounded;
}

export interface Asked {
  readonly feature: string;
  readonly units: bigint;
  readonly group: Readonly<Record<string, string>>;
}

/** How far each limit of a feature is used. */
export function usesOf(
  subscription: ModelSubscription,
  meter: ModelMeter,
  { feature, group }: Pick<Asked, "feature" | "group">,
  now: number,
) {
  return limitsOf(subscription, feature, now).map((one) => {
    const window = windowAt(one.window, now, subscription);
    const { per } = one;
    const place = per === null ? null : ([per, group[per] ?? ""] as const);
    const used = usedIn(subscription, meter, window, place);
    const held = [...subscription.holds.values()].filter(
      (hold) =>
        hold.feature === feature &&
        hold.ends_ms > now &&
        (place === null || hold.group[place[0]] === place[1]),
    );
    const reserved = held.reduce((sum, { units }) => sum + units, 0n);
    const left = one.limit === null ? null : one.limit - used - reserved;
    return {
      limit: one.limit,
      hard: one.hard,
      used,
      reserved,
      left,
      resets_ms: one.window === "life" ? null : window[1],
    };
  });
}

/** The answer of a check but for its reservation, as it is on the wire. */
export function expectedAnswer(
  subscription: ModelSubscription,
  meter: ModelMeter,
  asked: Asked,
  now: number,
) {
  const nothing = { limit: null, used: null, reserved: null, remaining: null, resets_at: null, hard: null };
  const refused = (reason: string) => ({ allowed: false, reason, ...nothing, certain: true });
  if (subscription.ended) return refused("subscription_ended");
  const uses = usesOf(subscription, meter, asked, now);
  if (uses.length === 0) return refused("no_feature");
  const over = uses.filter(({ left }) => left !== null && left < asked.units);
  const hard = over.find((one) => one.hard);
  const bounded = uses.filter(({ left }) => left !== null);
  const atLeastZero = (left: bigint | null) => (left === null || left > 0n ? left : 0n);
  const least = bounded.toSorted((a, b) => {
    const [x, y] = [atLeastZero(a.left) ?? 0n, atLeastZero(b.left) ?? 0n];
    return x < y ? -1 : x > y ? 1 : 0;
  })[0];
  const shown = hard ?? over[0] ?? least ?? uses[0];
  if (shown === undefined) throw new Error("No limit is shown");
  return {
    allowed: hard === undefined,
    reason: over.length > 0 ? "limit" : null,
    limit: shown.limit === null ? null : plain(shown.limit),
    used: plain(shown.used),
    reserved: plain(shown.reserved),
    remaining: shown.left === null ? null : plain(atLeastZero(shown.left) ?? 0n),
    resets_at: shown.resets_ms === null ? null : new Date(shown.resets_ms).toISOString(),
    hard: shown.hard,
    certain: true,
  };
}

/** Millionths as a plain decimal. */
export function plain(millionths: bigint): string {
  const size = millionths < 0n ? -millionths : millionths;
  const digits = String(size % MILLION)
    .padStart(6, "0")
    .replace(/0+$/, "");
  const whole = String(size / MILLION);
  return `${millionths < 0n ? "-" : ""}${whole}${digits === "" ? "" : `.${digits}`}`;
}
