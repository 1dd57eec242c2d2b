import codes from "../../../data/seed/fpx_response_codes.json" with { type: "json" };
import type { SchemeResult } from "./connector.ts";

/**
 * The classes of response codes. `message` is a complaint about our message or configuration; `duplicate` refuses a
 * message that was sent before and is still being processed. Decision 0136.
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

/** The entry of a code; undefined for an unknown one. */
export function findResponseCode(code: string): ResponseCode | undefined {
  return CODES.get(code);
}

/** The result of a code. An unknown code leaves the order pending: whether money moved is not known. */
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

/** A result for which the scheme gave no code. */
export function resultWithoutCode(status: "pending" | "failed", message: string | null): SchemeResult {
  return { status, code: null, message, is_retriable: false, scheme_txn_id: null, answers: null };
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
