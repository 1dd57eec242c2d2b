import type { TSchema } from "@sinclair/typebox";
import type { Operation } from "../../app/operation.ts";
import { tellAlerts } from "../../entitlements/alerts/tell.ts";
import {
  checkUsage,
  endReservations,
  freeReservation,
  reserveUsage,
} from "../../entitlements/checks/service.ts";
import { listEntitlements } from "../../entitlements/grants/service.ts";
import { getSpendLimit, rateSpending, setSpendLimit } from "../../entitlements/spend_limits/service.ts";
import { checkLimits, watchLimits } from "../../entitlements/totals/service.ts";

/** The operations that the instance runs which stores the company's usage. */
const OPERATIONS: readonly Operation<TSchema, TSchema>[] = [
  checkUsage,
  reserveUsage,
  freeReservation,
  endReservations,
  listEntitlements,
  watchLimits,
  checkLimits,
  tellAlerts,
  getSpendLimit,
  setSpendLimit,
  rateSpending,
];

export function findOperation(name: string): Operation<TSchema, TSchema> | undefined {
  return OPERATIONS.find((operation) => operation.name === name);
}
