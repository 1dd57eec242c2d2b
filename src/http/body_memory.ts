import { type Actor, principalOf, scopeOf } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";
import { networkOf } from "../core/network.ts";

/** The sender of a body; the address matters for anonymous ones only, and is read for no others. */
export interface Sender {
  actor: Actor;
  address: string | null;
}

/** A limit that several bodies share. */
interface MemoryShare {
  name: string;
  limit:
    | "bodies_bytes"
    | "bodies_company_bytes"
    | "bodies_user_bytes"
    | "open_bodies_bytes"
    | "open_bodies_address_bytes";
  /** Whose share it is, for the error; null: everybody's. */
  holder: string | null;
}

/** Reserved bytes by the name of the share. */
const reserved_bytes = new Map<string, number>();

/**
 * One body's reservation from the memory for bodies, which grows as the body arrives. Each user and company has a
 * share, so that none takes it all; anonymous callers share a small budget of their own, by network.
 */
export class BodyMemory {
  readonly #shares: readonly MemoryShare[];
  #bytes = 0;

  constructor(sender: Sender) {
    this.#shares = sharesOf(sender);
  }

  /** Changes the reservation. Errors: rate_limited when a share is full, unavailable when the whole memory is. */
  reserve(bytes: number): void {
    const added = bytes - this.#bytes;
    for (const { name, limit, holder } of this.#shares) {
      if (added > 0 && (reserved_bytes.get(name) ?? 0) + added > LIMITS[limit]) throw fullError(holder);
    }
    for (const { name } of this.#shares) {
      const reserved = (reserved_bytes.get(name) ?? 0) + added;
      if (reserved > 0) reserved_bytes.set(name, reserved);
      else reserved_bytes.delete(name);
    }
    this.#bytes = bytes;
  }

  release(): void {
    this.reserve(0);
  }
}

function sharesOf(sender: Sender): MemoryShare[] {
  const { actor } = sender;
  if (actor.kind === "anonymous") {
    return [
      { name: "open", limit: "open_bodies_bytes", holder: null },
      { name: `network ${networkOf(sender.address)}`, limit: "open_bodies_address_bytes", holder: "address" },
    ];
  }
  const all: MemoryShare = { name: "signed in", limit: "bodies_bytes", holder: null };
  const owner = principalOf(actor);
  // The operator's share is what is left.
  if (owner === null) return [all];
  const { company_id } = scopeOf(actor);
  const holder = owner.kind === "user" ? "user" : "API key";
  return [
    all,
    { name: `company ${company_id}`, limit: "bodies_company_bytes", holder: "company" },
    { name: `${owner.kind} ${owner.id}`, limit: "bodies_user_bytes", holder },
  ];
}

function fullError(holder: string | null): AppError {
  const retry = { retry_after_s: 1 };
  if (holder === null) return new AppError("unavailable", "Too many large bodies at once: try again", retry);
  return new AppError("rate_limited", `Your ${holder} sends too many large bodies at once: try again`, retry);
}
