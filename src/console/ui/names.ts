import type { User } from "../../access/users/model.ts";
import type { BillingRecord } from "../../billing/records/model.ts";

// Words for what the interface calls by a code.

export const RECORD_KIND_NAMES: Record<BillingRecord["kind"], string> = {
  period: "Period",
  adjustment: "Adjustment",
  advance: "In advance",
  interim: "Interim",
};

export const ROLE_NAMES: Record<User["role"], string> = {
  admin: "Admin",
  manager: "Manager",
  analyst: "Analyst",
  loan_officer: "Loan officer",
  client: "Client user",
};

/** A code as words: `per_api_call` is "per api call". */
export const words = (code: string): string => code.replaceAll("_", " ");

/** A code as the words of a button or heading: `payment_paid` is "Payment paid". */
export const title = (code: string): string => words(code).replace(/^./, (letter) => letter.toUpperCase());
