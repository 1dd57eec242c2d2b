import { FormatRegistry, Kind, type TOptional, type TSchema, Type } from "@sinclair/typebox";
import { invalid } from "./errors.ts";
import type { ZoneTimeline } from "./periods.ts";
import { iso } from "./time.ts";
import { currentZone, RELATIVE_WINDOWS, type RelativeWindow, windowOf, windowOfMonth } from "./windows.ts";

// Instants as people and programs write them. An operation's schema says where they stand; before it runs `readInstants`
// makes of each what the operation works with, whatever interface it came by. Decision 0281.

const END_OF_9999_MS = 253_402_300_799_999;

/** A date, or a date and a time, without an offset. */
const LOCAL = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d([.,]\d{1,9})?)?)?$/i;
const DIGITS = /^\d{1,15}$/;

/** What an operation works with: an ISO 8601 text with an offset, or Unix ms. */
type Unit = "iso" | "ms";

/** The fields of a range that a word or a month sets. */
type Bounds = readonly [from: string, to: string];

// Symbols, so that no document shows them.
const UNIT = Symbol("unit of an instant");
const BOUNDS = Symbol("bounds that a word names");

const FORMS =
  "an ISO 8601 date-time with an offset, or without one in the company's time zone, or Unix milliseconds, from 1970 to 9999";

FormatRegistry.Set("instant", (text) => {
  try {
    return isInRange(DIGITS.test(text) ? Number(text) : msOf(text, "UTC"));
  } catch {
    return false;
  }
});

const given = {
  description: FORMS,
  // What models send is read by the token: they know this format.
  "x-schema": { type: "string", format: "date-time" },
  "x-openapi": {
    type: ["string", "integer"],
    description: "ISO 8601 with an offset, or without one in the company's time zone, or Unix ms",
  },
};
const text = Type.String({ format: "instant", maxLength: 40 });

/** An instant in an input, from 1970 to 9999; operations read it with `instant`. */
export const InstantText = Type.Unsafe<string>({
  ...Type.Union([text, Type.Integer({ minimum: 0, maximum: END_OF_9999_MS })], given),
  [UNIT]: "iso" satisfies Unit,
});

/** As InstantText; operations get Unix ms. A number may be any: it merely finds nothing. */
export const InstantMs = Type.Unsafe<number>({
  ...Type.Union(
    [text, Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })],
    given,
  ),
  [UNIT]: "ms" satisfies Unit,
});

/** A month in an input. */
export const Month = Type.String({
  pattern: "^[1-9]\\d{3}-(0[1-9]|1[0-2])$",
  description: "a month such as 2026-10",
});

/** A window of time by its name. */
export const Relative = Type.Unsafe<RelativeWindow>(
  Type.Union(RELATIVE_WINDOWS.map((word) => Type.Literal(word))),
);

/**
 * A range of a list: `from`, included, and `to`, not included; or in their place a month or a word, which have become the
 * two when the operation runs, so that its type does not have them.
 */
export const rangeFields = rangeOf("from", "to");

function rangeOf<const F extends string, const T extends string>(from: F, to: T) {
  const bounds = { [BOUNDS]: [from, to] satisfies Bounds };
  const fields = {
    [from]: Type.Optional(InstantText),
    [to]: Type.Optional(InstantText),
    relative: Type.Optional({ ...Relative, ...bounds, "x-says": `in place of ${from} and ${to}` }),
    month: Type.Optional({ ...Month, ...bounds }),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is left of it for the operation
  return fields as unknown as Record<F | T, TOptional<typeof InstantText>>;
}

/** Where instants stand in a schema; null: nowhere. */
interface Plan {
  unit?: Unit;
  fields?: readonly [string, Plan][];
  items?: Plan;
  bounds?: Bounds;
}

const plans = new WeakMap<TSchema, Plan | null>();

/** Whether inputs of the schema may have instants. */
export function hasInstants(schema: TSchema): boolean {
  return planOf(schema) !== null;
}

/**
 * The input with its instants as the operation works with them. Where a zone's clock shows a local time twice it is the
 * earlier one; a time that the clock skips is as much later. Errors: invalid for an instant out of range, and for a range
 * given twice.
 */
export async function readInstants<I>(
  schema: TSchema,
  input: I,
  now: Temporal.Instant,
  findZones: () => Promise<ZoneTimeline>,
): Promise<I> {
  const plan = planOf(schema);
  if (plan === null) return input;
  const zones = needsZones(plan, input) ? await findZones() : [];
  // It has the shape of the input.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return resolve(plan, input, "", { now, zones }) as I;
}

function planOf(schema: TSchema): Plan | null {
  const known = plans.get(schema);
  if (known !== undefined) return known;
  const plan = makePlan(schema);
  plans.set(schema, plan);
  return plan;
}

function makePlan(schema: TSchema): Plan | null {
  const unit: Unit | undefined = Object.getOwnPropertyDescriptor(schema, UNIT)?.value;
  if (unit !== undefined) return { unit };
  if (schema[Kind] === "Array") {
    const items = planOf(schema.items);
    return items && { items };
  }
  if (schema[Kind] === "Union") {
    const [first = null] = (schema.anyOf ?? []).map(planOf).filter((plan: Plan | null) => plan !== null);
    return first;
  }
  const properties: [string, TSchema][] = Object.entries(schema.properties ?? {});
  const fields = properties.flatMap(([name, field]): [string, Plan][] => {
    const plan = planOf(field);
    return plan === null ? [] : [[name, plan]];
  });
  const bounds = properties
    .map(([, field]): Bounds | undefined => Object.getOwnPropertyDescriptor(field, BOUNDS)?.value)
    .find((found) => found !== undefined);
  return fields.length === 0 && bounds === undefined ? null : { fields, ...(bounds && { bounds }) };
}

function needsZones({ unit, fields = [], items, bounds }: Plan, value: unknown): boolean {
  if (unit !== undefined) return typeof value === "string" && LOCAL.test(value);
  if (items !== undefined) return Array.isArray(value) && value.some((item) => needsZones(items, item));
  if (!isRecord(value)) return false;
  if (bounds !== undefined && (value["relative"] !== undefined || value["month"] !== undefined)) return true;
  return fields.some(([name, plan]) => needsZones(plan, value[name]));
}

interface Place {
  now: Temporal.Instant;
  zones: ZoneTimeline;
}

function resolve(plan: Plan, value: unknown, path: string, place: Place): unknown {
  const { unit, fields = [], items, bounds } = plan;
  if (unit !== undefined) return instantOf(unit, value, path, place);
  if (items !== undefined)
    return Array.isArray(value) ? value.map((item, i) => resolve(items, item, `${path}/${i}`, place)) : value;
  if (!isRecord(value)) return value;
  const read = { ...value };
  for (const [name, field] of fields)
    if (read[name] !== undefined) read[name] = resolve(field, read[name], `${path}/${name}`, place);
  return bounds === undefined ? read : withBounds(read, bounds, path, place);
}

function instantOf(unit: Unit, value: unknown, path: string, { zones }: Place): unknown {
  if (typeof value !== "string" && typeof value !== "number") return value;
  const is_number = typeof value === "number" || DIGITS.test(value);
  if (is_number) {
    const ms = Number(value);
    return unit === "ms" ? ms : isoOf(ms);
  }
  if (!/^\d{4}-/.test(value)) return value; // another word that the field takes
  if (unit === "iso" && !LOCAL.test(value)) return value;
  const ms = msOf(value, currentZone(zones));
  if (!isInRange(ms)) throw invalid(path, `must be ${FORMS}`);
  return unit === "ms" ? ms : isoOf(ms);
}

function withBounds(
  { relative, month, ...input }: Record<string, unknown>,
  [from, to]: Bounds,
  path: string,
  { now, zones }: Place,
): Record<string, unknown> {
  if (relative === undefined && month === undefined) return input;
  const chosen = month === undefined ? "relative" : "month";
  const others = [...(relative === undefined || month === undefined ? [] : ["relative"]), from, to];
  for (const name of others)
    if (name === "relative" || input[name] !== undefined)
      throw invalid(`${path}/${name}`, `must be left out when ${chosen} is given`);
  const word = RELATIVE_WINDOWS.find((known) => known === relative) ?? "today";
  const { start_ms, end_ms } =
    typeof month === "string" ? windowOfMonth(month, zones) : windowOf(word, now, zones);
  return { ...input, [from]: isoOf(start_ms), [to]: isoOf(end_ms) };
}

const isoOf = (ms: number) => iso(Temporal.Instant.fromEpochMilliseconds(ms));

/** The instant of a text in Unix ms, rounded down. Errors: throws for a text that is no instant. */
function msOf(value: string, time_zone: string): number {
  if (LOCAL.test(value))
    return Temporal.PlainDateTime.from(value.replace(",", ".")).toZonedDateTime(time_zone).epochMilliseconds;
  if (!/^\d{4}-[^[]*$/.test(value)) throw new RangeError("no instant");
  return Temporal.Instant.from(value).epochMilliseconds;
}

function isInRange(ms: number): boolean {
  return ms >= 0 && ms <= END_OF_9999_MS;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
