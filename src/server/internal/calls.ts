import type { Caller, Deps } from "../../app/deps.ts";
import type { InternalCalls } from "../../app/internal_calls.ts";
import type { LiveLimits } from "../../app/live_limits.ts";
import { call } from "../../app/operation.ts";
import type { Actor } from "../../core/access.ts";
import type { Clock } from "../../core/time.ts";
import { reservedBy, reservedElsewhere } from "../../usage/ingest/reserved.ts";
import type { OwnedLanes } from "../../usage_store/clickhouse/lanes.ts";
import { NotOwnerError, type PassedEvents } from "../../usage_store/clickhouse/owner_calls.ts";
import type { LoadResult } from "../../usage_store/port.ts";
import { findOperation } from "./operations.ts";
import type { InternalSignatures } from "./signature.ts";

/** What the calls of other instances work with. */
interface CallServices {
  signatures: InternalSignatures;
  lanes: OwnedLanes;
  limits: LiveLimits;
  clock: Clock;
  openContext: Deps["openContext"];
}

/** An operation on its way to the instance that stores the company's usage. */
export interface PassedOperation {
  operation: string;
  actor: Actor;
  origin: Caller["origin"];
  request_id: string;
  address: string | null;
  input: unknown;
}

/** What was noted of a company's records by another instance. */
export interface PassedNote {
  company_id: number;
  /** Whether all subscriptions are to be looked at. */
  all: boolean;
}

/** A lane that its owner is about to give up. */
export interface PassedLane {
  lane: number;
}

/** What other instances may ask of this one: their signatures vouch for what they send. */
export function internalCalls(services: CallServices): InternalCalls {
  const { signatures, lanes } = services;
  // oxlint-disable typescript/no-unsafe-type-assertion -- signed by an instance, which has made it by these types
  return {
    take: (...given) => signatures.take(...given),
    calls: new Map<string, (input: unknown) => Promise<unknown>>([
      ["append", (input) => append(services, input as PassedEvents)],
      ["load", (input) => load(services, input as PassedEvents)],
      ["close_before", (input) => lanes.asOwner("close_before", input as never)],
      ["remove_closed", (input) => lanes.asOwner("remove_closed", input as never)],
      ["erase", (input) => lanes.asOwner("erase", input as never)],
      ["call", (input) => perform(services, input as PassedOperation)],
      ["take_over", (input) => lanes.takeOver((input as PassedLane).lane)],
      ["note", (input) => note(services, input as PassedNote)],
    ]),
  };
  // oxlint-enable typescript/no-unsafe-type-assertion
}

/** As ingest stores events: those of reservations settle these, where they are held. */
async function append({ lanes, limits, clock }: CallServices, passed: PassedEvents) {
  const { company_id, events } = passed;
  if (!lanes.owns(company_id)) throw new NotOwnerError();
  const { settled, foreign } = reservedBy({ limits, now: clock.now() }, company_id, events);
  if (foreign.size > 0) throw reservedElsewhere(foreign);
  const stored = await lanes.asOwner("append", passed);
  limits.settle(company_id, settled);
  return stored;
}

/** Leaves rows of reservations, as imports do: they are appended one by one. */
async function load({ lanes, limits }: CallServices, passed: PassedEvents): Promise<LoadResult> {
  const { company_id, events } = passed;
  if (!lanes.owns(company_id)) throw new NotOwnerError();
  if (limits.count(company_id) === 0) return lanes.asOwner("load", passed);
  const free = events.keys().filter((position) => {
    const { id = "" } = events[position] ?? {};
    return limits.find(company_id, id) === undefined;
  });
  const positions = free.toArray();
  const loaded = await lanes.asOwner("load", {
    ...passed,
    events: positions.flatMap((position) => events[position] ?? []),
  });
  const left = new Set(loaded.left.map((position) => positions[position] ?? 0));
  const loaded_positions = new Set(positions);
  for (const position of events.keys()) if (!loaded_positions.has(position)) left.add(position);
  return { ...loaded, left: [...left].toSorted((a, b) => a - b) };
}

async function perform({ lanes, openContext }: CallServices, passed: PassedOperation): Promise<unknown> {
  const { operation: name, actor, origin, request_id, address, input } = passed;
  const operation = findOperation(name);
  const company_id = "company_id" in actor ? actor.company_id : null;
  if (operation === undefined || company_id === null || !lanes.owns(company_id)) throw new NotOwnerError();
  const ctx = openContext({ actor, origin, request_id, address });
  return call({ ...ctx, pass_to_owner: async () => null }, operation, input);
}

async function note({ limits }: CallServices, { company_id, all }: PassedNote): Promise<null> {
  if (all) limits.changes.noteAll(company_id);
  limits.noteRecords(company_id);
  return null;
}
