import type { Decimal } from "../../core/money.ts";
import type { Frequency } from "../emandate_products/model.ts";

/** Where a mandate stands. Source: emandate.md, Mandate states. */
export const MANDATE_STATUSES = [
  "pending",
  "pending_authorization",
  "pending_approval",
  "active",
  "suspended",
  "pending_termination",
  "failed",
  "rejected",
  "cancelled",
  "terminated",
  "expired",
] as const;
export type MandateStatus = (typeof MANDATE_STATUSES)[number];

/** What the scheme was last asked: enrolment, maintenance, termination. */
export const APPLICATION_TYPES = ["01", "02", "03"] as const;

/** Who speaks with the banks. */
export const CONNECTORS = ["sandbox", "fpx"] as const;
export type ConnectorName = (typeof CONNECTORS)[number];

/** What an amendment asks for, until the scheme has answered. */
export interface Amendment {
  amount?: Decimal;
  frequency?: Frequency;
  expiry_date?: string;
}
