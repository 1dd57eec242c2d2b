import {
  NoAnswerError,
  OwnerFailedError,
  type PassOn,
  type ReachableOwner,
} from "../../usage_store/clickhouse/owner_calls.ts";
import type { Instance } from "../../app/instances.ts";
import type { Successor } from "../../usage_store/clickhouse/lanes/lane_set.ts";
import type { PassedLane } from "./calls.ts";
import type { InternalSignatures } from "./signature.ts";
import { errorFromWire, INTERNAL, NOT_OWNER } from "./wire.ts";

/**
 * Asks another instance. Errors: those that it answers; NoAnswerError where it does not answer, or is not the owner any
 * more; OwnerFailedError where it failed; the reason of `signal`.
 */
export async function askInstance(
  signatures: InternalSignatures,
  { id, url }: ReachableOwner,
  name: string,
  input: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const path = `${INTERNAL}${name}`;
  const body = new TextEncoder().encode(JSON.stringify(input));
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: signatures.sign({ path, to: id }, body) },
      body,
      signal,
      redirect: "error",
    });
    status = response.status;
    answer = await response.json();
  } catch (error) {
    signal.throwIfAborted();
    throw new NoAnswerError(`Instance ${id} does not answer at ${url}`, { cause: error });
  }
  const refused = errorFromWire(answer);
  if (status === 200 && typeof answer === "object" && answer !== null && "data" in answer) return answer.data;
  if (status === 500) throw new OwnerFailedError(`Instance ${id} failed: see its log`);
  // Another instance of its address does not know the signature: the owner is gone.
  if (status === NOT_OWNER || refused === undefined || refused.kind === "unauthorized")
    throw new NoAnswerError(`Instance ${id} at ${url} answered ${status}`);
  throw refused;
}

/** How the usage store has owners of lanes do what only they do. */
export function passOnBy(signatures: InternalSignatures): PassOn {
  return async (owner, call, input, signal) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what an instance answers to the call
    (await askInstance(signatures, owner, call, input, signal)) as never;
}

/** Another instance as one that takes lanes over. */
export function successorBy(signatures: InternalSignatures, other: Instance): Successor {
  return (lane, signal) => {
    const input: PassedLane = { lane };
    return askInstance(signatures, other, "take_over", input, signal);
  };
}
