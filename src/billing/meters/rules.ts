import { FieldErrors } from "../../core/field_errors.ts";
import { compare, type Decimal, subtract, toBig } from "../../core/money.ts";
import { ERASED_KEY } from "../../usage_store/erased_metadata.ts";
import { metadataKeyOf } from "../../usage_store/port.ts";
import type { Meter, MeterTermsInput } from "./model.ts";

/** The fields of a meter that decide what is counted. */
export type Counting = Pick<
  Meter,
  "code" | "aggregation" | "value" | "filters" | "group_keys" | "percentile" | "carry_over"
>;

type Term = Meter["value"][number];
type Filter = Meter["filters"][number];

const USAGE: Term = { key: "usage", times: "1" };

/**
 * Merges a request into the present terms: with another aggregation, what the new one does not take falls away unless it
 * is given. Errors: invalid, naming every broken rule.
 */
export function mergeCounting(before: Counting | null, code: string, input: MeterTermsInput): Counting {
  const errors = new FieldErrors();
  const same = before !== null && before.aggregation === input.aggregation ? before : null;
  const { aggregation } = input;
  const percentile =
    input.percentile === undefined ? (same?.percentile ?? null) : readPercentile(input.percentile, errors);
  const merged: Counting = {
    code,
    aggregation,
    value:
      input.value?.map((term, i) => readTerm(term, i, errors)) ?? same?.value ?? defaultValue(aggregation),
    filters: input.filters?.map(readFilter) ?? before?.filters ?? [],
    group_keys: input.group_keys ?? before?.group_keys ?? [],
    percentile,
    carry_over: input.carry_over ?? same?.carry_over ?? false,
  };
  checkValue(merged, errors);
  checkKeys(merged, errors);
  checkFilters(merged.filters, errors);
  checkOptions(merged, errors);
  errors.refuse();
  return merged;
}

function defaultValue(aggregation: Meter["aggregation"]): Term[] {
  return aggregation === "count" || aggregation === "unique" ? [] : [USAGE];
}

function readTerm(
  { key, times = "1" }: NonNullable<MeterTermsInput["value"]>[number],
  index: number,
  errors: FieldErrors,
): Term {
  const path = `/value/${index}/times`;
  const read = errors.decimal(times, path);
  if (!hasSixDecimals(read) || compare(toBig(read).abs().toFixed(), "1000000") >= 0)
    errors.add({ path, message: "must have at most 6 decimals and be under 1000000 in size" });
  return { key, times: read };
}

function readFilter({ key, op, values = [] }: NonNullable<MeterTermsInput["filters"]>[number]): Filter {
  return { key, op, values };
}

function readPercentile(given: string | number | null, errors: FieldErrors): Decimal | null {
  if (given === null) return null;
  const percentile = errors.decimal(given, "/percentile");
  if (compare(percentile, "0") <= 0 || compare(percentile, "100") > 0 || !hasSixDecimals(percentile))
    errors.add({ path: "/percentile", message: "must be above 0, at most 100, with at most 6 decimals" });
  return percentile;
}

function hasSixDecimals(value: Decimal): boolean {
  return compare(subtract(value, toBig(value).round(6).toFixed()), "0") === 0;
}

function checkValue({ aggregation, value }: Counting, errors: FieldErrors): void {
  const path = "/value";
  const is_text = value.length === 1 && value[0]?.key !== "usage" && value[0]?.times === "1";
  if (aggregation === "count" && value.length > 0)
    errors.add({ path, message: "must be left out: count counts events" });
  else if (aggregation === "unique" && !is_text)
    errors.add({
      path,
      message: "must be one metadata key, without times: unique counts its different texts",
    });
  else if (aggregation !== "count" && value.length === 0)
    errors.add({ path, message: `must have 1 to 5 terms: ${aggregation} needs a number` });
}

/** An erasure writes that key. */
function checkKeys({ value, filters, group_keys }: Counting, errors: FieldErrors): void {
  const keys = [
    ...value.map(({ key }, i) => ({ key: metadataKeyOf(key), path: `/value/${i}/key` })),
    ...filters.map(({ key }, i) => ({ key, path: `/filters/${i}/key` })),
    ...group_keys.map((key, i) => ({ key, path: `/group_keys/${i}` })),
  ];
  for (const { key, path } of keys)
    if (key === ERASED_KEY)
      errors.add({ path, message: `must not be ${ERASED_KEY}: it says that metadata was erased` });
}

function checkFilters(filters: readonly Filter[], errors: FieldErrors): void {
  for (const [i, { op, values }] of filters.entries()) {
    const path = `/filters/${i}/values`;
    const takes_values = op === "in" || op === "not_in";
    if (takes_values && values.length === 0)
      errors.add({ path, message: `must have a value: ${op} compares with it` });
    if (!takes_values && values.length > 0)
      errors.add({ path, message: `must be left out: ${op} takes none` });
  }
}

function checkOptions({ aggregation, percentile, carry_over }: Counting, errors: FieldErrors): void {
  if (aggregation === "percentile" && percentile === null)
    errors.add({ path: "/percentile", message: "is required by aggregation percentile" });
  if (aggregation !== "percentile" && percentile !== null)
    errors.add({ path: "/percentile", message: `must be left out: aggregation ${aggregation} takes none` });
  if (aggregation !== "latest" && carry_over)
    errors.add({
      path: "/carry_over",
      message: `must be left out: aggregation ${aggregation} does not take it`,
    });
}
