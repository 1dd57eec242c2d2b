import type { ReadTx } from "../../store/store.ts";
import { metadataKeyOf } from "../../usage_store/port.ts";
import type { SeriesKey } from "../../usage_store/series.ts";
import { findSubscriptionNames } from "../search/queries.ts";
import { compositeKey } from "../subscription_key.ts";
import type { UsageField } from "../filters/model.ts";
import { findNames } from "./queries.ts";

/** A group's key on the wire, and its name. */
export interface NamedKey {
  key: string | null;
  name: string | null;
  /** Of the record; null for metadata. */
  id: number | null;
}

const NOBODY: NamedKey = { key: null, name: null, id: null };

/** How the keys of groups are written, by one field. What the database lost (decision 0116) has none. */
export async function namesOf(
  tx: ReadTx,
  field: UsageField,
  keys: readonly SeriesKey[],
): Promise<(key: SeriesKey) => NamedKey> {
  if (metadataKeyOf(field) !== undefined)
    return (key) => (key === null ? NOBODY : { key: String(key), name: String(key), id: null });
  const ids = keys.filter((key) => typeof key === "number");
  if (field === "subscription") {
    const subscriptions = await findSubscriptionNames(tx, ids);
    return (key) => {
      const names = subscriptions.get(Number(key));
      if (names === undefined) return NOBODY;
      const wire_key = compositeKey(tx.scope.company_id, names.external_subscription_id);
      return { key: wire_key, name: names.name, id: Number(key) };
    };
  }
  if (field !== "client" && field !== "product" && field !== "billing_model") return () => NOBODY;
  const names = await findNames(tx, field, ids);
  return (key) =>
    key === null ? NOBODY : { key: String(key), name: names.get(Number(key)) ?? null, id: Number(key) };
}
