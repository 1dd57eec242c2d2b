import type { Static, TSchema } from "@sinclair/typebox";
import type { Deps } from "../../app/deps.ts";
import { call, type Operation } from "../../app/operation.ts";
import type { Actor } from "../../core/access.ts";
import type { Call } from "../world.ts";

/** Whoever works at the demo's company while it is served: calls operations, as by HTTP. */
export interface Colleague {
  company_id: number;
  now: () => Temporal.Instant;
  /** As the company's system. */
  call: Call;
  callAs: <I extends TSchema, O extends TSchema>(
    actor: Actor,
    operation: Operation<I, O>,
    input: Static<I>,
  ) => Promise<Static<O>>;
}

export function colleagueAt(deps: Deps, company_id: number): Colleague {
  const callAs: Colleague["callAs"] = (actor, operation, input) => {
    const request_id = Bun.randomUUIDv7();
    return call(deps.openContext({ actor, origin: "job", request_id, address: null }), operation, input);
  };
  return {
    company_id,
    now: () => deps.clock.now(),
    callAs,
    call: (operation, input) => callAs({ kind: "system", company_id }, operation, input),
  };
}
