import type { BillingRecord } from "../../billing/records/model.ts";

// Words for what the interface calls by a code.

export const RECORD_KIND_NAMES: Record<BillingRecord["kind"], string> = {
  period: "Period",
  adjustment: "Adjustment",
  advance: "In advance",
  interim: "Interim",
};

/** A code as words: `per_api_call` is "per api call". */
export const words = (code: string): string => code.replaceAll("_", " ");
