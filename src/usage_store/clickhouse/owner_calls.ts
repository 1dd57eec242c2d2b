import type { AppendResult, LoadResult, NewEvent } from "../port.ts";
import type { LaneHolder } from "./lanes/lane_rows.ts";

/** Events on their way to the process that stores the company's usage. */
export interface PassedEvents {
  company_id: number;
  events: readonly NewEvent[];
  now_ms: number;
}

/** What only the owner of a company's lane does: by each name what it is given, and what it answers. */
export interface OwnerCalls {
  append: { input: PassedEvents; output: AppendResult };
  /** `left` counts in `events`. */
  load: { input: PassedEvents; output: LoadResult };
  close_before: { input: { company_id: number; since_ms: number }; output: null };
  remove_closed: { input: { company_id: number; limit: number }; output: number };
  erase: {
    input: { company_id: number; ids: readonly string[]; keep: readonly string[] };
    output: null;
  };
}

export type OwnerCall = keyof OwnerCalls;
export type InputOf<K extends OwnerCall> = OwnerCalls[K]["input"];
export type OutputOf<K extends OwnerCall> = OwnerCalls[K]["output"];

/** Where an owner is reached. */
export type ReachableOwner = LaneHolder & { url: string };

/**
 * Has an owner do it, and resolves with its answer. Errors: those that it answers, and NoAnswerError: it may be done, or
 * not. The reason of `signal`, which ends the wait.
 */
export type PassOn = <K extends OwnerCall>(
  owner: ReachableOwner,
  call: K,
  input: InputOf<K>,
  signal: AbortSignal,
) => Promise<OutputOf<K>>;

/** This process does not own the company's lane, so that it did nothing. */
export class NotOwnerError extends Error {
  override name = "NotOwnerError";
}

/** An owner did not answer, or does not own the lane any more: asking again is safe. */
export class NoAnswerError extends Error {
  override name = "NoAnswerError";
}

/** An owner failed at it, and has logged why. What stores once by its ids may be asked again. */
export class OwnerFailedError extends NoAnswerError {
  override name = "OwnerFailedError";
}

/** How often a wait looks whether the asked owner still is the owner. */
const LOOK_MS = 100;

/**
 * Asks an owner for as long as it is the owner: one that vanished does not even refuse. Errors: those of `ask`, and
 * NoAnswerError once `isOwner` says no.
 */
export async function askWhileOwner<Answer>(
  ask: (signal: AbortSignal) => Promise<Answer>,
  isOwner: () => boolean,
): Promise<Answer> {
  const gone = new AbortController();
  const timer = setInterval(() => {
    if (!isOwner()) gone.abort(new NoAnswerError());
  }, LOOK_MS);
  try {
    return await ask(gone.signal);
  } finally {
    clearInterval(timer);
  }
}
