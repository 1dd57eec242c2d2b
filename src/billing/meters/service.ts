import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { isDeepStrictEqual } from "node:util";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import type { Measured } from "../../usage_store/meter.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { listAddOnsEntitling, listAddOnsNaming } from "../add_ons/queries.ts";
import { canTakeCredits } from "../billing_models/charge_rules.ts";
import { listModelsEntitling, listModelsNaming, shownModel } from "../billing_models/queries.ts";
import { canBeLimited } from "../features/entitlement_rules.ts";
import { findAlertNaming } from "../features/alert_queries.ts";
import { findEntitledSubscription, listFeaturesOf } from "../features/queries.ts";
import { reservedError, reservedOf } from "../features/reserved.ts";
import { isModelUsed } from "../billing_model_changes/model_use.ts";
import { LIMITS } from "../limits.ts";
import { findSimulationNaming } from "../simulations/queries.ts";
import { isBooked } from "../subscription_add_ons/queries.ts";
import { listSubscriptionStarts } from "../subscriptions/queries.ts";
import { CreateMeter, ListMeters, Meter, MeterTrial, TryMeter, UpdateMeter } from "./model.ts";
import * as queries from "./queries.ts";
import { type Counting, mergeCounting } from "./rules.ts";

/** Lists the company's meters by id; whole when no page is asked for. */
export const listMeters = operation({
  name: "list_meters",
  permission: "meters:read",
  input: ListMeters,
  output: listed(Meter),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listMeters(readTx(ctx), filter, slice)),
});

/** Finds one meter. Errors: not_found. */
export const getMeter = operation({
  name: "get_meter",
  permission: "meters:read",
  input: ById,
  output: Meter,
  run: async (ctx, { id }) => orNotFound(await queries.findMeter(readTx(ctx), id), "Meter", id),
});

/** Creates a meter. Errors: invalid, naming every broken rule of its aggregation, or a code that is taken. */
export const createMeter = operation({
  name: "create_meter",
  permission: "meters:write",
  input: CreateMeter,
  output: Meter,
  run(ctx, { code, name, description = "", ...input }) {
    const counting = mergeCounting(null, code, input);
    return transaction(ctx, async (tx) => {
      const meter = await queries.insertMeter(tx, { name, description, ...counting });
      await recordEvents(tx, [event("meter.created", meter)]);
      return meter;
    });
  },
});

/**
 * Replaces a meter's name, and what else is given. What it counts is frozen once a billing model that was used, or an
 * add-on that was booked, names it, while there are entitlements to a feature that names it or units of that are reserved,
 * and while a simulation counts by it; one that a feature or an alert counts by keeps an aggregation that has a total.
 * Errors: not_found, invalid, conflict.
 */
export const updateMeter = operation({
  name: "update_meter",
  permission: "meters:write",
  input: UpdateMeter,
  output: Meter,
  async run(ctx, { id, code, name, description, ...input }) {
    const merge = (before: Meter): Counting =>
      mergeCounting(before, code ?? before.code, { aggregation: before.aggregation, ...input });
    const present = await queries.findMeter(readTx(ctx), id);
    const changes = present !== undefined && countsOther(present, merge(present));
    const findReserved = await reservedOf(ctx, changes ? await listFeatureIds(readTx(ctx), id) : []);
    return transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findMeter(tx, id), "Meter", id);
      const counting = merge(before);
      if (countsOther(before, counting)) {
        await refuseUsed(tx, id);
        const reserved = await findReserved(tx, await listFeatureIds(tx, id));
        if (reserved !== undefined) throw reservedError(reserved, `Cannot change what meter ${id} counts`);
        await refuseSimulated(tx, id);
      }
      const removed = before.group_keys.filter((key) => !counting.group_keys.includes(key));
      if (removed.length > 0) await refusePriced(tx, id, removed);
      if (!canTakeCredits(counting)) await refuseCredited(tx, id);
      if (!canBeLimited(counting)) await refuseLimited(tx, id);
      const fields = { name, description: description ?? before.description, ...counting };
      const meter = orNotFound(await queries.updateMeter(tx, id, fields), "Meter", id);
      await recordEvents(tx, [event("meter.updated", meter)]);
      ctx.annotateAudit({ before, after: meter });
      return meter;
    });
  },
});

const countsOther = (before: Meter, after: Counting): boolean =>
  !isDeepStrictEqual({ ...before, ...after }, before);

async function listFeatureIds(tx: ReadTx, meter_id: number): Promise<number[]> {
  return (await listFeaturesOf(tx, meter_id)).map(({ id }) => id);
}

/**
 * Deletes a meter. Errors: not_found, conflict while a billing model, an add-on, a feature, an alert or a simulation that
 * goes on names it.
 */
export const deleteMeter = operation({
  name: "delete_meter",
  permission: "meters:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const meter = orNotFound(await queries.findMeter(tx, id), "Meter", id);
      const [model] = await listModelsNaming(tx, id);
      if (model) throw new AppError("conflict", `Cannot delete meter ${id}: ${shownModel(model)} names it`);
      const [feature] = await listFeaturesOf(tx, id);
      if (feature)
        throw new AppError("conflict", `Cannot delete meter ${id}: feature ${feature.id} names it`);
      const [add_on] = await listAddOnsNaming(tx, id);
      if (add_on) throw new AppError("conflict", `Cannot delete meter ${id}: add-on ${add_on.id} names it`);
      const simulation = await findSimulationNaming(tx, id);
      if (simulation)
        throw new AppError(
          "conflict",
          `Cannot delete meter ${id}: simulation ${simulation.id} goes on and names it; wait for it, or delete it`,
        );
      const alert = await findAlertNaming(tx, { meter_id: id });
      if (alert !== undefined)
        throw new AppError("conflict", `Cannot delete meter ${id}: alert ${alert} names it`);
      await queries.deleteMeter(tx, id);
      await recordEvents(tx, [event("meter.deleted", meter)]);
      return {};
    }),
});

/**
 * Counts the stored events of a time by a meter, and saves nothing. Errors: invalid, conflict for a time whose events were
 * removed, those of the usage store.
 */
export const tryMeter = operation({
  name: "try_meter",
  permission: "meters:read",
  input: TryMeter,
  output: MeterTrial,
  async run(ctx, { meter: input, from, to, subscription_ids }) {
    const meter = mergeCounting(null, "tried", input);
    const [start, end] = [instant(from), instant(to)];
    if (Temporal.Instant.compare(start, end) >= 0) throw invalid("/to", "must be later than from");
    const bounds = { start_ms: start.epochMilliseconds, end_ms: end.epochMilliseconds };
    const chosen = await chooseSubscriptions(ctx, bounds, subscription_ids);
    const rows = await measureSubscriptions(ctx, meter, bounds, chosen.subscriptions);
    return { from: iso(start), to: iso(end), is_complete: chosen.is_complete, rows };
  },
});

interface Chosen {
  subscriptions: { id: number; started_at: string }[];
  is_complete: boolean;
}

/** The subscriptions that are asked for, or those with the most events. */
async function chooseSubscriptions(
  ctx: Context,
  bounds: { start_ms: number; end_ms: number },
  ids: readonly number[] | undefined,
): Promise<Chosen> {
  const tx = readTx(ctx);
  if (ids !== undefined) {
    const subscriptions = await listSubscriptionStarts(tx, ids);
    const known = new Set(subscriptions.map(({ id }) => id));
    const unknown = ids.findIndex((id) => !known.has(id));
    if (unknown >= 0) throw invalid(`/subscription_ids/${unknown}`, "names no subscription of this company");
    return { subscriptions, is_complete: true };
  }
  const { company_id } = scopeOf(ctx.actor);
  const groups = await ctx.usage.aggregate(
    {
      company_id,
      ...bounds,
      group_by: ["subscription"],
      time_zone: "UTC",
      max_groups: LIMITS.meter_try_groups,
      max_key_length: 1,
    },
    ctx.config.usage_query_timeout_ms,
  );
  const most = groups
    .toSorted((a, b) => b.event_count - a.event_count)
    .slice(0, LIMITS.meter_try_subscriptions)
    .map(({ keys }) => Number(keys[0]));
  const is_complete = most.length === groups.length;
  return { subscriptions: await listSubscriptionStarts(tx, most), is_complete };
}

async function measureSubscriptions(
  ctx: Context,
  meter: Counting,
  bounds: { start_ms: number; end_ms: number },
  subscriptions: Chosen["subscriptions"],
): Promise<MeterTrial["rows"]> {
  const windows = subscriptions.map(({ id, started_at }) => ({
    ...bounds,
    subscription_id: id,
    use: 0,
    since_ms: Math.min(instant(started_at).epochMilliseconds, bounds.start_ms),
    whole_ms: bounds.end_ms - bounds.start_ms,
  }));
  const { group_keys: keys } = meter;
  const measured = await ctx.usage.measure(
    {
      company_id: scopeOf(ctx.actor).company_id,
      uses: [{ meter, parts: { keys } }],
      windows,
      max_parts: LIMITS.meter_try_rows,
    },
    ctx.config.usage_query_timeout_ms,
  );
  return measured.flatMap((parts, i) =>
    inOrder(parts).map(({ part, quantity, event_count, skipped_events }) => {
      const values = typeof part === "number" ? [] : part;
      return {
        subscription_id: windows[i]?.subscription_id ?? 0,
        group: Object.fromEntries(keys.map((key, position) => [key, values[position] ?? null])),
        quantity,
        event_count,
        skipped_events,
      };
    }),
  );
}

/**
 * Errors: conflict where a billing model that was used, or an add-on that was booked, names the meter, or a feature to
 * which there are entitlements.
 */
async function refuseUsed(tx: ReadTx, id: number): Promise<void> {
  for (const model of await listModelsNaming(tx, id)) {
    if (!(await isModelUsed(tx, model.id))) continue;
    throw new AppError(
      "conflict",
      `Cannot change what meter ${id} counts: billing model ${model.id} names it and was used. Create a new meter`,
    );
  }
  for (const { id: feature_id, code } of await listFeaturesOf(tx, id)) {
    const is_granted =
      (await findEntitledSubscription(tx, feature_id)) !== undefined ||
      (await listModelsEntitling(tx, code)).length > 0 ||
      (await listAddOnsEntitling(tx, code)).length > 0;
    if (!is_granted) continue;
    throw new AppError(
      "conflict",
      `Cannot change what meter ${id} counts: there are entitlements to feature ${feature_id}, which names it. Create a new meter`,
    );
  }
  for (const add_on of await listAddOnsNaming(tx, id)) {
    if (!(await isBooked(tx, add_on.id))) continue;
    throw new AppError(
      "conflict",
      `Cannot change what meter ${id} counts: add-on ${add_on.id} names it and was booked. Create a new meter`,
    );
  }
}

/** Errors: conflict where a simulation goes on that counts by the meter, or margins are read from one that did. */
async function refuseSimulated(tx: ReadTx, id: number): Promise<void> {
  const simulation = await findSimulationNaming(tx, id);
  if (!simulation) return;
  const reason =
    simulation.status === "running"
      ? `simulation ${simulation.id} goes on and counts by it. Wait for it, or delete it`
      : `simulation ${simulation.id} of a cost model counted by it. Create a new meter, or delete the simulation`;
  throw new AppError("conflict", `Cannot change what meter ${id} counts: ${reason}`);
}

/** Errors: conflict where prices of a billing model or an add-on differ by one of the group keys. */
async function refusePriced(tx: ReadTx, id: number, keys: readonly string[]): Promise<void> {
  const models = await listModelsNaming(tx, id);
  const add_ons = await listAddOnsNaming(tx, id);
  const priced = [
    ...models.flatMap((model) =>
      model.charges.map((charge) => ({ of: `billing model ${model.id}`, charge })),
    ),
    ...add_ons.map((add_on) => ({ of: `add-on ${add_on.id}`, charge: add_on.charge })),
  ];
  for (const { of, charge } of priced) {
    if (charge.meter_id !== id) continue;
    const key = keys.find((one) => charge.prices.some(({ match }) => Object.hasOwn(match, one)));
    if (key === undefined) continue;
    throw new AppError(
      "conflict",
      `Cannot remove group key ${key} of meter ${id}: prices of ${of} differ by it`,
    );
  }
}

/** Errors: conflict where credits of a billing model are taken for what the meter counts, which has to add up. */
async function refuseCredited(tx: ReadTx, id: number): Promise<void> {
  const models = await listModelsNaming(tx, id);
  const model = models.find(({ credit_plan }) => credit_plan?.rates?.some(({ meter_id }) => meter_id === id));
  if (model)
    throw new AppError(
      "conflict",
      `Cannot change the aggregation of meter ${id}: credits of billing model ${model.id} are taken for its count or sum`,
    );
}

/** Errors: conflict where a feature or an alert names the meter, so that what it counts needs a total. */
async function refuseLimited(tx: ReadTx, id: number): Promise<void> {
  const [feature] = await listFeaturesOf(tx, id);
  if (feature)
    throw new AppError(
      "conflict",
      `Cannot change the aggregation of meter ${id}: feature ${feature.id} limits it, which needs a total`,
    );
  const alert = await findAlertNaming(tx, { meter_id: id });
  if (alert !== undefined)
    throw new AppError(
      "conflict",
      `Cannot change the aggregation of meter ${id}: alert ${alert} names it, which needs a total`,
    );
}

/** Parts in the order of the text of their keys. */
function inOrder(parts: readonly Measured[]): Measured[] {
  return parts.toSorted((a, b) => (JSON.stringify(a.part) < JSON.stringify(b.part) ? -1 : 1));
}

function event(type: NewEvent["type"], { id, code }: Meter): NewEvent {
  return { type, data: { id, code } };
}
