import type { Meter } from "../../../billing/meters/model.ts";

/** What a meter reads of an event, in a line. */
export function termsText({
  value,
  filters,
  aggregation,
}: Pick<Meter, "value" | "filters" | "aggregation">): string {
  const read = value.map(({ key, times }) => (times === "1" ? key : `${key} × ${times}`)).join(" + ");
  const where = filters.map(({ key, op, values }) =>
    `${key} ${op.replace("_", " ")} ${values.join(", ")}`.trim(),
  );
  const of = aggregation === "count" ? "events" : read;
  return where.length === 0 ? of : `${of}, where ${where.join(" and ")}`;
}
