import { AppError, invalid } from "../../core/errors.ts";
import { toBig } from "../../core/money.ts";
import type { ReadTx } from "../../store/store.ts";
import { metadataKeyOf, type EventFilter } from "../../usage_store/port.ts";
import type { MetadataCondition } from "../../usage_store/event_filter.ts";
import type { SeriesGrouping } from "../../usage_store/series.ts";
import { externalIdOf } from "../subscription_key.ts";
import type { UsageField, UsageFilter } from "./model.ts";
import {
  listIdsByName,
  listKnownClientIds,
  listKnownModelIds,
  listKnownProductIds,
  listSubscriptions,
  type Owner,
  type SubscriptionCondition,
} from "./queries.ts";

/** Which events a question is about, wherever in time. */
export interface EventQuestion {
  filters?: readonly UsageFilter[];
  min_usage?: number;
  max_usage?: number;
}

/** The usage store's filter and groupings for a question. */
export interface Resolved {
  filter: Omit<EventFilter, "start_ms" | "end_ms">;
  group_by: SeriesGrouping[];
}

const LISTS_KNOWN: Record<Owner, (tx: ReadTx, ids: readonly number[]) => Promise<number[]>> = {
  client: listKnownClientIds,
  product: listKnownProductIds,
  billing_model: listKnownModelIds,
};

/**
 * Resolves clients, products, billing models and names to subscriptions. Errors: invalid naming a filter that can't be
 * read, forbidden for ids outside of the scope.
 */
export async function resolve(
  tx: ReadTx,
  { filters = [], min_usage, max_usage }: EventQuestion,
  fields: readonly UsageField[],
): Promise<Resolved> {
  const conditions: MetadataCondition[] = [];
  const of_subscriptions: SubscriptionCondition[] = [];
  for (const [i, filter] of filters.entries()) {
    const values = valuesOf(filter, i);
    const key = metadataKeyOf(filter.field);
    if (key !== undefined) conditions.push({ key, op: filter.op, values });
    else of_subscriptions.push(...(await subscriptionConditions(tx, filter, values, i)));
  }
  const owners = fields.flatMap((field) => (isOwner(field) ? [field] : []));
  const is_narrowed = tx.scope.client_id !== undefined || of_subscriptions.length > 0;
  const found =
    is_narrowed || owners.length > 0
      ? await listSubscriptions(tx, of_subscriptions, owners)
      : { ids: [], owners: [] };
  const labelsOf = (owner: Owner) => {
    const labels = found.owners[owners.indexOf(owner)] ?? [];
    return new Map(found.ids.map((id, i) => [id, labels[i] ?? 0]));
  };
  return {
    filter: {
      company_id: tx.scope.company_id,
      subscription_ids: is_narrowed ? found.ids : undefined,
      conditions: conditions.length === 0 ? undefined : conditions,
      min_usage: min_usage === undefined ? undefined : toBig(min_usage).toFixed(),
      max_usage: max_usage === undefined ? undefined : toBig(max_usage).toFixed(),
    },
    group_by: fields.map((field): SeriesGrouping => {
      const key = metadataKeyOf(field);
      if (key !== undefined) return { by: "metadata", key };
      return isOwner(field) ? { by: "subscription", labels: labelsOf(field) } : { by: "subscription" };
    }),
  };
}

function isOwner(field: UsageField): field is Owner {
  return field === "client" || field === "product" || field === "billing_model";
}

/** The values of a filter. Errors: invalid where they don't go with its op. */
function valuesOf({ op, values }: UsageFilter, position: number): readonly string[] {
  const takes_values = op !== "present" && op !== "missing";
  if (takes_values === (values !== undefined)) return values ?? [];
  const rule = takes_values ? `is required for ${op}` : `must be left out for ${op}`;
  throw invalid(`/filters/${position}/values`, rule);
}

async function subscriptionConditions(
  tx: ReadTx,
  { field, op }: UsageFilter,
  values: readonly string[],
  position: number,
): Promise<SubscriptionCondition[]> {
  // Every subscription has a client, a product and a billing model, unless the database lost it (decision 0116).
  if (op === "present" || op === "missing") return [{ all: op === "present" }];
  const is_not = op === "is_not";
  if (!isOwner(field)) {
    if (op === "contains") return [{ field: "subscription", parts: values }];
    const { company_id } = tx.scope;
    const external_ids = values.map((value) => externalIdOf(company_id, value) ?? value);
    return [{ field: "subscription", external_ids, is_not }];
  }
  if (op === "contains") return [{ field, ids: await listIdsByName(tx, field, values), is_not }];
  const ids = values.map((value, i) => idOf(value, `/filters/${position}/values/${i}`));
  const known = new Set(await LISTS_KNOWN[field](tx, ids));
  const foreign = ids.find((id) => !known.has(id));
  if (foreign === undefined) return [{ field, ids, is_not }];
  const owner = tx.scope.client_id === undefined ? "company" : "client";
  throw new AppError(
    "forbidden",
    `Cannot answer for ${field} ${foreign}: it does not belong to your ${owner}`,
  );
}

/** Errors: invalid unless the text is an id. */
function idOf(text: string, path: string): number {
  const id = Number(text);
  if (/^[1-9][0-9]*$/.test(text) && Number.isSafeInteger(id)) return id;
  throw invalid(path, "must be an id, as text");
}
