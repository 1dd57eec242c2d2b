import codes from "../../../data/seed/fpx_response_codes.json" with { type: "json" };
import type { SchemeResult } from "./connector.ts";

/**
 * What a code means to an order. `message` complains about what we sent, or as whom: our mistake, or our
 * configuration's; `duplicate` refuses what was sent before, which goes on. Decision 0136.
 */
export const RESPONSE_CLASSES = [
  "success",
  "pending",
  "retriable",
  "declined",
  "account",
  "mandate",
  "request",
  "message",
  "duplicate",
] as const;
export type ResponseClass = (typeof RESPONSE_CLASSES)[number];

interface ResponseCode {
  code: string;
  class: ResponseClass;
  message: string;
}

const CODES = new Map(codes.map((entry) => [entry.code, { ...entry, class: readClass(entry.class) }]));

function readClass(text: string): ResponseClass {
  const found = RESPONSE_CLASSES.find((one) => one === text);
  if (found === undefined) throw new Error(`Unknown class of response codes: ${text}`);
  return found;
}

/** What is known of a code; undefined for one that is not. */
export function findResponseCode(code: string): ResponseCode | undefined {
  return CODES.get(code);
}

/**
 * What a code says of an order. Of one that nobody knows nothing is said: whether money moved is not known, so
 * the order stays pending.
 */
export function resultOf(code: string, scheme_txn_id: string | null = null): SchemeResult {
  const known = findResponseCode(code);
  return {
    status: known === undefined ? "pending" : STATUS_OF_CLASS[known.class],
    code,
    message: known?.message ?? `Unknown response code ${code}`,
    is_retriable: known?.class === "retriable",
    scheme_txn_id,
    answers: null,
    ...(known?.class === "message" ? { is_about_message: true } : {}),
  };
}

const STATUS_OF_CLASS: Record<ResponseClass, SchemeResult["status"]> = {
  success: "ok",
  pending: "pending",
  retriable: "failed",
  declined: "failed",
  account: "failed",
  mandate: "failed",
  request: "failed",
  message: "failed",
  duplicate: "pending",
};
