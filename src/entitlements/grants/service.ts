import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import type { Entitlement } from "../../billing/features/entitlement_model.ts";
import { Entitlement as EntitlementShape } from "../../billing/features/entitlement_model.ts";
import { readEntitlements } from "../../billing/features/entitlement_rules.ts";
import type { Feature } from "../../billing/features/model.ts";
import { findFeatures } from "../../billing/features/queries.ts";
import { findMeters } from "../../billing/meters/queries.ts";
import { listZones } from "../../billing/subscriptions/queries.ts";
import { nextTurn, ROWS_A_TURN, sortInterleaved } from "../../core/chunk.ts";
import { invalid, notFound, orNotFound } from "../../core/errors.ts";
import { FieldErrors } from "../../core/field_errors.ts";
import { ById, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { Type } from "@sinclair/typebox";
import type { GroupTotal, WatchedTotals } from "../../usage_store/running_totals.ts";
import { type SubscriptionLimit, totalsOf, usedAt } from "../checks/limit_totals.ts";
import { remainingOf } from "../checks/rules.ts";
import { LIMITS } from "../limits.ts";
import { EntitlementUse, RemoveEntitlement, SetEntitlement } from "./model.ts";
import * as queries from "./queries.ts";
import { type Granted, grantedOf, largestFirst } from "./rules.ts";

/** Lists a subscription's entitlements with their use. Errors: not_found, for a client user also when it is another client's. */
export const listEntitlements = operation({
  name: "list_entitlements",
  at_owner: true,
  permission: "entitlements:read",
  input: ById,
  output: Type.Array(EntitlementUse),
  async run(ctx, { id }) {
    const tx = readTx(ctx);
    const subscription = orNotFound(await queries.findEntitled(tx, id), "Subscription", id);
    const granted = grantedOf(
      subscription.billing_model.entitlements,
      await queries.listOwn(tx, id),
      await queries.listBookedGrants(tx, id),
    );
    const codes = [...new Set(granted.map(({ feature }) => feature))];
    const features = new Map(
      (await queries.listFeaturesByCode(tx, codes)).map((feature) => [feature.code, feature]),
    );
    const meters = await findMeters(
      tx,
      [...features.values()].flatMap(({ meter_id }) => meter_id ?? []),
    );
    const recorded = await queries.listRecordedAround(tx, id);
    const known = granted.flatMap((entitlement) => {
      const feature = features.get(entitlement.feature);
      if (feature === undefined) return [];
      const meter = feature.meter_id === null ? null : (meters.get(feature.meter_id) ?? null);
      return [{ entitlement, feature, meter, subscription, recorded }];
    });
    const limits = known.filter(({ feature }) => feature.kind === "limit");
    const totals = await totalsOf(ctx, await listZones(tx), limits);
    const total_of = new Map(limits.map((limit, i) => [limit, totals[i] ?? null]));
    const uses: EntitlementUse[] = [];
    for (const row of known) uses.push(await toUse(ctx, row, total_of.get(row)));
    return uses;
  },
});

type KnownLimit = SubscriptionLimit & { readonly entitlement: Granted; readonly feature: Feature };

/** `totals` is undefined of what is no limit. */
async function toUse(
  ctx: Pick<Context, "limits" | "now">,
  limit: KnownLimit,
  totals: WatchedTotals | null | undefined,
): Promise<EntitlementUse> {
  const row = { ...limit.entitlement, kind: limit.feature.kind };
  if (totals === undefined) return row;
  const useOf = (group: string | null) => {
    const used = usedAt(ctx, limit, totals, group);
    const { resets_ms, certain, reserved } = used;
    return { used: used.used, reserved, remaining: remainingOf(used), certain, resets_ms };
  };
  if (limit.entitlement.per === null || totals === null) {
    const { resets_ms, ...use } = useOf(null);
    return { ...row, ...use, resets_at: resetsAt(resets_ms) };
  }
  const now_ms = ctx.now.epochMilliseconds;
  const groups = (await largestGroups(totals, now_ms)).map(({ group }) => {
    const { resets_ms: _, ...use } = useOf(group);
    return { group, ...use };
  });
  const end_ms = limit.entitlement.window === "life" ? null : totals.watch.calendar.at(now_ms).end_ms;
  return { ...row, groups, resets_at: resetsAt(end_ms) };
}

/** Those of the groups that are listed, the largest first. Of thousands, others have a turn between some and some. */
async function largestGroups(totals: WatchedTotals, now_ms: number): Promise<GroupTotal[]> {
  const groups: GroupTotal[] = [];
  for (const total of totals.groupsAt(now_ms)) if (groups.push(total) % ROWS_A_TURN === 0) await nextTurn();
  const sorted = await sortInterleaved(groups, (a, b) => largestFirst(a.quantity, b.quantity), ROWS_A_TURN);
  return sorted.slice(0, LIMITS.listed_groups);
}

function resetsAt(ms: number | null): string | null {
  return ms === null ? null : iso(Temporal.Instant.fromEpochMilliseconds(ms));
}

/**
 * Gives a subscription entitlements of its own to a feature, in place of its billing model's and of those before.
 * Errors: not_found for the subscription or the feature, invalid.
 */
export const setEntitlement = operation({
  name: "set_entitlement",
  permission: "entitlements:write",
  target: "subscription",
  input: SetEntitlement,
  output: Type.Array(EntitlementShape),
  run: (ctx, { id, code, ...input }) =>
    transaction(ctx, async (tx) => {
      orNotFound(await queries.findEntitled(tx, id), "Subscription", id);
      const features = await findFeatures(tx, [code]);
      const feature = features.get(code);
      if (!feature) throw notFound("Feature", code);
      const entitlements = readOwn(code, input, features);
      await queries.saveOwn(tx, { subscription_id: id, feature_id: feature.id }, entitlements);
      return entitlements;
    }),
});

/** Takes a subscription's own entitlements to a feature away: its billing model's count again. Errors: not_found. */
export const removeEntitlement = operation({
  name: "remove_entitlement",
  permission: "entitlements:write",
  target: "subscription",
  uses_reserve: true,
  input: RemoveEntitlement,
  output: Nothing,
  run: (ctx, { id, code }) =>
    transaction(ctx, async (tx) => {
      orNotFound(await queries.findEntitled(tx, id), "Subscription", id);
      const feature = await queries.findFeatureByCode(tx, code);
      const is_there =
        feature !== undefined &&
        (await queries.deleteOwn(tx, { subscription_id: id, feature_id: feature.id }));
      if (!is_there) throw notFound("Entitlement", code);
      return {};
    }),
});

type Given = Omit<SetEntitlement, "id" | "code">;

/** Errors: invalid, naming every broken rule. */
function readOwn(
  code: string,
  { entitlements, ...single }: Given,
  features: Parameters<typeof readEntitlements>[1],
): Entitlement[] {
  if (entitlements !== undefined && Object.keys(single).length > 0)
    throw invalid("/entitlements", "must be left out when other fields are given");
  const inputs = entitlements ?? [single];
  const errors = new FieldErrors();
  const named = inputs.map((input) => ({ ...input, feature: code }));
  const read = readEntitlements(named, features, errors);
  for (const [i, { feature }] of inputs.entries())
    if (feature !== undefined && feature !== code)
      errors.add({ path: `/entitlements/${i}/feature`, message: `must be ${code}, as in the path` });
  if (entitlements === undefined)
    for (const detail of errors.details) detail.path = detail.path.replace("/entitlements/0", "");
  errors.refuse();
  return read;
}
