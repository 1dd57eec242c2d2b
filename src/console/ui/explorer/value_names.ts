import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { UsageField, UsageFilter } from "../../../usage/filters/model.ts";
import type { UsageSeries } from "../../../usage/series/model.ts";
import { send } from "../../api/call.ts";
import type { ExplorerCalls } from "./calls.ts";

/** Names of clients, products, subscriptions and billing models that some answer had, by field and key. */
const known = signal<ReadonlyMap<string, string>>(new Map());

const idOf = (field: UsageField, key: string) => `${field} ${key}`;
const isNamed = (field: UsageField) => !field.startsWith("metadata:");

/** What a filter's value is called; until that is known its key. */
export const valueName = (field: UsageField, key: string): string =>
  (isNamed(field) && known.value.get(idOf(field, key))) || key;

export function learnNames(field: UsageField, values: readonly { key: string; name: string }[]): void {
  if (!isNamed(field)) return;
  const fresh = values.filter(({ key, name }) => known.value.get(idOf(field, key)) !== name);
  if (fresh.length === 0) return;
  known.value = new Map([...known.value, ...fresh.map(({ key, name }) => [idOf(field, key), name] as const)]);
}

/** Learns the names of an answer's groups. */
export function learnGroups({ groups }: UsageSeries, by: readonly UsageField[]): void {
  for (const [i, field] of by.entries())
    learnNames(
      field,
      groups.flatMap(({ keys, names }) => {
        const [key, name] = [keys[i], names[i]];
        return key == null || name == null ? [] : [{ key, name }];
      }),
    );
}

/** Asks for the names of a filter's values that came by the address. */
export function useFilterNames(filters: readonly UsageFilter[], calls: ExplorerCalls): void {
  useEffect(() => {
    for (const { field, op, values = [] } of filters) {
      if (!isNamed(field) || op === "contains") continue;
      const unknown = values.filter((key) => !known.value.has(idOf(field, key)));
      if (unknown.length === 0) continue;
      const of_them = { field, op: "is" as const, values: unknown };
      send(calls.values, { field, filters: [of_them], range: { relative: "all" }, limit: 100 }).then(
        ({ data }) => learnNames(field, data),
        // The key says enough, and the question itself says what is wrong.
        () => undefined,
      );
    }
  }, [JSON.stringify(filters)]);
}
