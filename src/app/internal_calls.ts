import type { Actor } from "../core/access.ts";
import type { Origin } from "./origin.ts";

/** What instances ask of one another, by name, and who may. */
export interface InternalCalls {
  /** Errors: unauthorized; so does what is returned, for another body. */
  take(call: { path: string; to: string }, header: string | null): (body: Uint8Array) => void;
  readonly calls: ReadonlyMap<string, (input: unknown) => Promise<unknown>>;
}

/** Who calls an operation, and how. */
interface PassedCaller {
  actor: Actor;
  origin: Origin;
  request_id: string;
  address: string | null;
}

/** "only": it is refused while nobody stores the company's usage. */
interface PassedOperation {
  readonly name: string;
  readonly at_owner?: true | "only" | undefined;
}

/**
 * Has an operation run by the instance that stores the company's usage. Null: it is this one's to run. Errors: those of the
 * operation; unavailable when that instance does not answer, or only it may run what there is none for.
 */
export type PassToOwner = (
  caller: PassedCaller,
  operation: PassedOperation,
  input: unknown,
) => Promise<{ output: unknown } | null>;
