import { createHash } from "node:crypto";
import type { FieldErrors } from "../../core/field_errors.ts";
import { compare, type Decimal } from "../../core/money.ts";
import type { Window } from "../grants/windows.ts";
import { LIMITS } from "../limits.ts";
import type { Alert } from "./model.ts";

/** Thresholds of a request, in canonical text; the broken rules go into `errors`. */
export function readThresholds(
  given: readonly (string | number)[],
  on: Alert["on"],
  errors: FieldErrors,
): Decimal[] {
  const most = String(LIMITS.alert_percent);
  const read: Decimal[] = [];
  for (const [i, value] of given.entries()) {
    const path = `/thresholds/${i}`;
    const before = errors.details.length;
    const threshold = errors.decimal(value, path);
    const last = read.at(-1);
    read.push(threshold);
    if (errors.details.length > before) continue;
    if (compare(threshold, "0") <= 0) errors.add({ path, message: "must be more than 0" });
    else if (on === "limit" && compare(threshold, most) > 0)
      errors.add({ path, message: `must be at most ${most} percent of the limit` });
    else if (last !== undefined && compare(threshold, last) <= 0)
      errors.add({ path, message: "must be more than the one before" });
  }
  return read;
}

/** Which fields say what an alert is of. */
type Named = Pick<Alert, "on" | "meter_id" | "feature" | "currency">;

/** The rules of what an alert names, by its kind; the broken ones go into `errors`. */
export function checkNamed({ on, meter_id, feature, currency }: Named, errors: FieldErrors): void {
  const leaveOut = (path: string, of: string) =>
    errors.add({ path, message: `must be left out on ${on}: it is of ${of}` });
  if (meter_id !== null && on !== "usage") leaveOut("/meter_id", "usage");
  if (feature !== null && (on === "spend" || on === "forecast")) leaveOut("/feature", "usage and limit");
  if (currency !== null && on !== "spend" && on !== "forecast") leaveOut("/currency", "spend and forecast");
  if (on === "limit" && feature === null)
    errors.add({ path: "/feature", message: "must be the code of a feature of kind limit" });
  if (on === "usage" && (feature === null) === (meter_id === null))
    errors.add({
      path: "/meter_id",
      message: "must be given on usage, or feature in its place: one of the two",
    });
}

/** A subscription as scopes see it. */
export interface ScopedSubscription {
  readonly id: number;
  readonly client_id: number;
  readonly product_id: number;
  readonly billing_model_id: number;
  readonly currency: string;
}

/** Whether an alert is of a subscription. */
export function isInScope(
  { scope, currency }: Pick<Alert, "scope" | "currency">,
  of: ScopedSubscription,
): boolean {
  return (
    (scope.client_ids?.includes(of.client_id) ?? true) &&
    (scope.product_ids?.includes(of.product_id) ?? true) &&
    (scope.billing_model_ids?.includes(of.billing_model_id) ?? true) &&
    (scope.subscription_ids?.includes(of.id) ?? true) &&
    (currency === null || currency === of.currency)
  );
}

/** What makes a firing one. */
export interface FiringKey {
  readonly alert_id: number | null;
  readonly subscription_id: number;
  /** The meter, the feature, or what else is counted. */
  readonly counted: string;
  readonly window: Window;
  readonly start_ms: number;
  readonly per: string | null;
  readonly group: string | null;
  readonly limit: Decimal | null;
  readonly threshold: Decimal;
}

/** A digest of what makes a firing one: another limit, window or threshold makes another. */
export function digestOf(key: FiringKey): string {
  const { alert_id, subscription_id, counted, window, start_ms, per, group, limit, threshold } = key;
  const parts = [alert_id, subscription_id, counted, window, start_ms, per, group, limit, threshold];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
