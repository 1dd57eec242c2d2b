import type { Static, TSchema } from "@sinclair/typebox";
import type { Deps } from "../app/deps.ts";
import type { Origin } from "../app/context.ts";
import { call, type Operation } from "../app/operation.ts";
import type { Actor } from "../core/access.ts";
import { decode } from "../core/validate.ts";
import type { MovedClock } from "./moved_clock.ts";
import { type Dice, dice } from "./dice.ts";

/** Where requests of the demo's people come from: an address for documentation (RFC 5737). */
const ADDRESS = "203.0.113.24";

/** How long people take from one thing to the next. */
const PAUSE_S = { least: 4, most: 40 };

/** Calls operations as somebody. */
export type Call = <I extends TSchema, O extends TSchema>(
  operation: Operation<I, O>,
  input: Static<I>,
) => Promise<Static<O>>;

/** `now`: as of another instant than the clock shows. */
interface How {
  origin?: Origin;
  now?: Temporal.Instant;
}

/** The records that the demo's cast is known by. */
export type Kind =
  | "client"
  | "product"
  | "meter"
  | "plan"
  | "add_on"
  | "subscription"
  | "booking"
  | "user"
  | "key"
  | "debit_product"
  | "mandate"
  | "program"
  | "consent";

/** An opened service, and who works with it: every change is a call of an operation, as by HTTP. */
export class World {
  readonly deps: Deps;
  readonly clock: MovedClock;
  /** Chooses what the cast leaves open. */
  readonly roll: Dice;
  readonly #pause: Dice;
  readonly #ids = new Map<string, number>();
  readonly #actors = new Map<string, Actor>();
  company_id = 0;

  constructor(deps: Deps, clock: MovedClock, seed: number) {
    this.deps = deps;
    this.clock = clock;
    this.roll = dice(seed);
    this.#pause = dice(seed + 1);
  }

  /** Calls an operation with what a client would send. Errors: those of the operation, and invalid. */
  call<I extends TSchema, O extends TSchema>(
    who: string | Actor,
    operation: Operation<I, O>,
    input: Static<I>,
    how: How = {},
  ): Promise<Static<O>> {
    return this.pass(who, operation, decode(operation.input, input), how);
  }

  /** As `call`, for operations that check themselves what they are sent. */
  async pass<I extends TSchema, O extends TSchema>(
    who: string | Actor,
    operation: Operation<I, O>,
    input: Static<I>,
    { origin = "rest", now }: How = {},
  ): Promise<Static<O>> {
    const actor = typeof who === "string" ? this.actor(who) : who;
    const ctx = this.deps.openContext({
      actor,
      origin,
      request_id: Bun.randomUUIDv7(),
      address: origin === "rest" ? ADDRESS : null,
    });
    const output = await call(now === undefined ? ctx : { ...ctx, now }, operation, input);
    if (origin === "rest") this.#rest();
    return output;
  }

  get system(): Actor {
    return { kind: "system", company_id: this.company_id };
  }

  enter(name: string, actor: Actor): void {
    this.#actors.set(name, actor);
  }

  actor(name: string): Actor {
    const actor = this.#actors.get(name);
    if (actor === undefined) throw new Error(`Nobody of the demo is called ${name}`);
    return actor;
  }

  hasActor(name: string): boolean {
    return this.#actors.has(name);
  }

  name(kind: Kind, key: string, id: number): number {
    this.#ids.set(`${kind} ${key}`, id);
    return id;
  }

  id(kind: Kind, key: string): number {
    const id = this.#ids.get(`${kind} ${key}`);
    if (id === undefined) throw new Error(`The demo has no ${kind} ${key}`);
    return id;
  }

  #rest(): void {
    const { least, most } = PAUSE_S;
    this.clock.moveTo(this.clock.now().add({ seconds: least + this.#pause(most - least) }));
  }
}
