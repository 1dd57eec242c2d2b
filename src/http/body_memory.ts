import { type Actor, principalOf, scopeOf } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";
import { networkOf } from "../core/network.ts";

/** Who sends a body. */
export interface Sender {
  actor: Actor;
  address: string | null;
}

/** A bound on bytes that several bodies have in common. */
interface MemoryShare {
  name: string;
  limit:
    | "bodies_bytes"
    | "bodies_company_bytes"
    | "bodies_user_bytes"
    | "open_bodies_bytes"
    | "open_bodies_address_bytes";
  /** Whose share it is; null where it is everybody's. */
  holder: string | null;
}

/** Bytes of the bodies that are being read, by the name of the share. */
const held = new Map<string, number>();

/**
 * The memory that one body takes while it is read, counted as it comes in. Users and companies have a share each,
 * so that none of them takes it all; callers who are not signed in have a small room of their own, shared out by
 * address.
 */
export class BodyMemory {
  readonly #shares: readonly MemoryShare[];
  #bytes = 0;

  constructor(sender: Sender) {
    this.#shares = sharesOf(sender);
  }

  /** Holds so many bytes from now on. Errors: rate_limited when a share is full, unavailable when all are. */
  reserve(bytes: number): void {
    const added = bytes - this.#bytes;
    for (const { name, limit, holder } of this.#shares) {
      if (added > 0 && (held.get(name) ?? 0) + added > LIMITS[limit]) throw fullError(holder);
    }
    for (const { name } of this.#shares) {
      const reserved = (held.get(name) ?? 0) + added;
      if (reserved > 0) held.set(name, reserved);
      else held.delete(name);
    }
    this.#bytes = bytes;
  }

  release(): void {
    this.reserve(0);
  }
}

function sharesOf({ actor, address }: Sender): MemoryShare[] {
  const owner = principalOf(actor);
  if (owner === null) {
    return [
      { name: "open", limit: "open_bodies_bytes", holder: null },
      { name: `network ${networkOf(address)}`, limit: "open_bodies_address_bytes", holder: "address" },
    ];
  }
  const { company_id } = scopeOf(actor);
  const holder = owner.kind === "user" ? "user" : "API key";
  return [
    { name: "signed in", limit: "bodies_bytes", holder: null },
    { name: `company ${company_id}`, limit: "bodies_company_bytes", holder: "company" },
    { name: `${owner.kind} ${owner.id}`, limit: "bodies_user_bytes", holder },
  ];
}

function fullError(holder: string | null): AppError {
  const retry = { retry_after_s: 1 };
  if (holder === null) return new AppError("unavailable", "Too many large bodies at once: try again", retry);
  return new AppError("rate_limited", `Your ${holder} sends too many large bodies at once: try again`, retry);
}
