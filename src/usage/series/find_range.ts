import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { notFound } from "../../core/errors.ts";
import { periodContaining, type ZoneTimeline } from "../../core/periods.ts";
import { instant, later } from "../../core/time.ts";
import { currentZone, windowOf, windowOfMonth } from "../../core/windows.ts";
import { listRecordedBounds } from "../../billing/records/queries.ts";
import { findSubscription } from "../../billing/subscriptions/queries.ts";
import { LIMITS } from "../limits.ts";
import { aggregateInZones } from "../search/aggregate_in_zones.ts";
import type { RangeInput } from "./model.ts";
import type { Resolved } from "../filters/resolve.ts";
import { assertOneForm, between, lastYear, type Range } from "./range.ts";

/**
 * The range of a question. `filter`: whose events are meant by all of them. Errors: invalid for none of its forms, or
 * several; not_found for a subscription that is not in the scope.
 */
export async function findRange(
  ctx: Context,
  input: RangeInput = { relative: "last_30d" },
  filter: Resolved["filter"],
  zones: ZoneTimeline,
): Promise<Range> {
  assertOneForm(input);
  const { from, to, relative = "last_30d", month, period_of, on } = input;
  if (from !== undefined) return between(instant(from), to === undefined ? ctx.now : instant(to));
  if (month !== undefined) return windowOfMonth(month, zones);
  if (period_of !== undefined) return periodOf(ctx, period_of, on, zones);
  if (relative === "all") return allTime(ctx, filter, zones);
  return relative === "last_12_months" ? lastYear(ctx.now, zones) : windowOf(relative, ctx.now, zones);
}

/** The billing period of a subscription that a day of it lies in, as its bills have it; default: the present one. */
async function periodOf(
  ctx: Context,
  id: number,
  on: string | undefined,
  zones: ZoneTimeline,
): Promise<Range> {
  const tx = readTx(ctx);
  const subscription = await findSubscription(tx, id);
  if (subscription === undefined) throw notFound("Subscription", id);
  const { started_at, billing_anchor_day } = subscription;
  const day =
    on === undefined ? ctx.now : Temporal.PlainDate.from(on).toZonedDateTime(currentZone(zones)).toInstant();
  const at = later(day, instant(started_at));
  const around = { from: at.subtract({ hours: AROUND_HOURS }), to: at.add({ hours: AROUND_HOURS }) };
  const recorded = await listRecordedBounds(tx, [id], around);
  const period = periodContaining(at, billing_anchor_day, zones, recorded.get(id) ?? []);
  return between(period.from, period.to);
}

/** Longer than any month. */
const AROUND_HOURS = 35 * 24;

/** The months in which there is usage; where there is none, today. */
async function allTime(ctx: Context, filter: Resolved["filter"], zones: ZoneTimeline): Promise<Range> {
  const { company_id, subscription_ids } = filter;
  const months = await aggregateInZones(
    ctx,
    {
      company_id,
      subscription_ids,
      group_by: ["month"],
      max_groups: LIMITS.usage_groups,
      max_key_length: LIMITS.usage_group_key_length,
    },
    zones,
  );
  const keys = months.map(({ keys: [month] }) => String(month)).toSorted();
  const [first] = keys;
  const last = keys.at(-1);
  if (first === undefined || last === undefined) return windowOf("today", ctx.now, zones);
  const { start_ms } = windowOfMonth(first, zones);
  const { end_ms } = windowOfMonth(last, zones);
  return { start_ms, end_ms };
}
