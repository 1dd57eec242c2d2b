import type { PlainRecords } from "./plain_records.ts";
import type { PlainUsage } from "./plain_usage.ts";

/** What answers are held to. */
export interface Plain {
  usage: PlainUsage;
  records: PlainRecords;
}

/** A question to the service, and what its answer must be. */
export interface Question {
  what: string;
  by: "admin" | "client";
  method: "GET" | "POST";
  path: string;
  body?: unknown;
  /** Whether it has to read events, one by one. */
  scans: boolean;
  /** Holds an answer to plain code. Errors: throws where it is wrong. */
  check(answer: unknown, plain: Plain): void;
}

/** Errors: throws unless both are the same. */
export function same(actual: unknown, expected: unknown, what: string): void {
  if (Bun.deepEquals(actual, expected)) return;
  const [one, other] = [actual, expected].map((value) => JSON.stringify(value)?.slice(0, 400));
  throw new Error(`Wrong: ${what} is ${one}, and should be ${other}`);
}
