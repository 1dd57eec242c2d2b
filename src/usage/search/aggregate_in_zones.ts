import type { Context } from "../../app/context.ts";
import { type ZoneEra, type ZoneTimeline, zoneEras } from "../../core/periods.ts";
import { currentZone } from "../../core/windows.ts";
import { addRows } from "../../usage_store/aggregate_rows.ts";
import type { AggregateQuery, AggregateRow } from "../../usage_store/port.ts";

type Question = Omit<AggregateQuery, "time_zone">;

/**
 * The groups of the matching events, by the company's time zone. Months are cut as bills were: where a zone was set
 * later, those before it keep the zone that they were billed in. Errors: those of the store. Decision 0282.
 */
export async function aggregateInZones(
  ctx: Context,
  question: Question,
  zones: ZoneTimeline,
): Promise<AggregateRow[]> {
  const { usage_query_timeout_ms } = ctx.config;
  const ask = (query: AggregateQuery) => ctx.usage.aggregate(query, usage_query_timeout_ms);
  const by_month = question.group_by.includes("month");
  const stretches = by_month ? stretchesOf(question, zoneEras(zones)) : [];
  const [only, ...others] = stretches;
  if (only === undefined || others.length === 0)
    return ask({ ...question, time_zone: only?.era.timezone ?? currentZone(zones) });
  const groups = new Map<string, AggregateRow>();
  for (const { era, start_ms, end_ms } of stretches) {
    const rows = await ask({ ...question, start_ms, end_ms, time_zone: era.timezone });
    for (const row of rows) {
      const keys = keysIn(era, question, row.keys);
      const text = JSON.stringify(keys);
      const known = groups.get(text);
      groups.set(text, known === undefined ? { ...row, keys } : { keys, ...addRows([known, row]) });
    }
  }
  return [...groups.values()];
}

/** The part of a question's time that lies in one era. */
interface Stretch {
  era: ZoneEra;
  start_ms: number | undefined;
  end_ms: number | undefined;
}

function stretchesOf({ start_ms, end_ms }: Question, eras: readonly ZoneEra[]): Stretch[] {
  return eras.flatMap((era, i): Stretch[] => {
    const next = eras[i + 1]?.starts_at?.epochMilliseconds;
    const from = era.starts_at?.epochMilliseconds;
    const start = from === undefined ? start_ms : Math.max(from, start_ms ?? from);
    const end = next === undefined ? end_ms : Math.min(next, end_ms ?? next);
    return start !== undefined && end !== undefined && start >= end
      ? []
      : [{ era, start_ms: start, end_ms: end }];
  });
}

/** An era may begin while its own zone still has the day before: its first month reaches back to its start. */
function keysIn({ first_month }: ZoneEra, { group_by }: Question, keys: AggregateRow["keys"]) {
  return keys.map((key, i) =>
    first_month !== null && group_by[i] === "month" && typeof key === "string" && key < first_month
      ? first_month
      : key,
  );
}
