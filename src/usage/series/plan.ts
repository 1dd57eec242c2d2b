import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { currentZone } from "../../core/windows.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import { MAX_TIMESTAMP_MS } from "../../usage_store/port.ts";
import type { SeriesQuery } from "../../usage_store/series.ts";
import { LIMITS } from "../limits.ts";
import type { Nothing } from "./answer.ts";
import { type Buckets, bucketsOf } from "./buckets.ts";
import { resolve } from "../filters/resolve.ts";
import { findRange } from "./find_range.ts";
import type { UsageField } from "../filters/model.ts";
import type { SeriesQuestion } from "./model.ts";

/** A question as the usage store takes it. */
export interface Plan {
  question: SeriesQuestion;
  fields: UsageField[];
  buckets: Buckets;
  time_zone: string;
  query: SeriesQuery;
  began_ms: number;
}

/** Reads a question. Errors: as `getUsageSeries`. */
export async function planOf(ctx: Context, question: SeriesQuestion): Promise<Plan> {
  const began_ms = performance.now();
  const { group_by = [], interval = "auto", measure = "units", top } = question;
  const fields = typeof group_by === "string" ? [group_by] : group_by;
  const zones = await listZones(readTx(ctx));
  const { filter, group_by: groupings } = await resolve(readTx(ctx), question, fields);
  const range = await findRange(ctx, question.range, filter, zones);
  const buckets = bucketsOf(range, interval, zones);
  const query: SeriesQuery = {
    ...filter,
    edges: storable(buckets.edges),
    group_by: groupings,
    measure,
    top: top ?? LIMITS.usage_series_groups_default,
    max_key_length: LIMITS.usage_group_key_length,
  };
  return { question, fields, buckets, time_zone: currentZone(zones), query, began_ms };
}

/** Bounds of a question: it ends with its request. */
export function optionsOf(ctx: Context, signal = ctx.stop()) {
  return { timeout_ms: ctx.config.usage_query_timeout_ms, signal };
}

/** Instants within those that an event may have, or the one after the last. */
export function storable(edges: readonly number[]): number[] {
  return edges.map((edge) => Math.min(Math.max(edge, 0), MAX_TIMESTAMP_MS + 1));
}

/** The refusal of a question that needs removed events names the field that would have to change. */
export async function keptOnly<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const [detail] = error instanceof AppError ? (error.details ?? []) : [];
    if (detail?.path === "/start_time") throw invalid("/range/from", detail.message);
    throw error;
  }
}

/** What a bucket without events has. */
export const nothingOf = ({ measure = "units" }: SeriesQuestion): Nothing =>
  measure === "mean" || measure === "smallest" || measure === "largest" ? null : 0;
