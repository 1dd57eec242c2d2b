import type { Parameters } from "../engine/sql.ts";
import { valueSql } from "./metadata_sql.ts";

/** The name of group sums by subscription. A metadata key is the name of those by subscription and its value. */
export const BY_SUBSCRIPTION = "";

/** The names of sums by a key's value alone begin so; keys that do have no sums. */
const BY_VALUE = "\u0001";

/** The names of the group sums by a metadata key: by its value alone, which are few, then by subscription too. */
export function sumsNames(metadata_key: string): [by_value: string, by_both: string] | [] {
  if (metadata_key === BY_SUBSCRIPTION || metadata_key.startsWith(BY_VALUE)) return [];
  return [BY_VALUE + metadata_key, metadata_key];
}

/** SQL of what the sums of this name group events by, besides the hour: 0 and an empty text stand for neither. */
export function groupsOf(name: string, parameters: Parameters): { subscription_id: string; value: string } {
  if (name === BY_SUBSCRIPTION) return { subscription_id: "subscription_id", value: "''" };
  if (!name.startsWith(BY_VALUE))
    return { subscription_id: "subscription_id", value: valueSql(name, parameters) };
  return { subscription_id: "0", value: valueSql(name.slice(BY_VALUE.length), parameters) };
}
