import { type Actor, ownerOf, scopeOf } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { networkOf } from "../core/network.ts";

/** Who sends a body. */
export interface Sender {
  actor: Actor;
  address: string | null;
}

/** A bound on bytes that several bodies have in common. */
interface Share {
  name: string;
  max_bytes: number;
  /** What those are told who find it full. */
  full: AppError;
}

/** Bytes of the bodies that are being read, by the name of the share. */
const held = new Map<string, number>();

/**
 * The memory that one body takes while it is read, counted as it comes in. Users and companies have a share each,
 * so that none of them takes it all; callers who are not signed in have a small room of their own, shared out by
 * address.
 */
export class BodyRoom {
  readonly #shares: readonly Share[];
  #bytes = 0;

  constructor(sender: Sender) {
    this.#shares = sharesOf(sender);
  }

  /** Holds so many bytes from now on. Errors: rate_limited when a share is full, unavailable when all are. */
  hold(bytes: number): void {
    const more = bytes - this.#bytes;
    for (const { name, max_bytes, full } of this.#shares) {
      if (more > 0 && (held.get(name) ?? 0) + more > max_bytes) throw full;
    }
    for (const { name } of this.#shares) {
      const left = (held.get(name) ?? 0) + more;
      if (left > 0) held.set(name, left);
      else held.delete(name);
    }
    this.#bytes = bytes;
  }

  release(): void {
    this.hold(0);
  }
}

function sharesOf({ actor, address }: Sender): Share[] {
  const owner = ownerOf(actor);
  if (owner === null) {
    return [
      { name: "open", max_bytes: LIMITS.open_bodies_bytes, full: fullForAll() },
      { name: networkOf(address), max_bytes: LIMITS.open_bodies_address_bytes, full: fullForOne("address") },
    ];
  }
  return [
    { name: "signed in", max_bytes: LIMITS.bodies_bytes, full: fullForAll() },
    {
      name: `company ${scopeOf(actor).company_id}`,
      max_bytes: LIMITS.bodies_company_bytes,
      full: fullForOne("company"),
    },
    {
      name: `${owner.kind} ${owner.id}`,
      max_bytes: LIMITS.bodies_user_bytes,
      full: fullForOne(owner.kind === "user" ? "user" : "API key"),
    },
  ];
}

function fullForAll(): AppError {
  return new AppError("unavailable", "Too many large bodies at once: try again", { retry_after_s: 1 });
}

function fullForOne(who: string): AppError {
  return new AppError("rate_limited", `Your ${who} sends too many large bodies at once: try again`, {
    retry_after_s: 1,
  });
}
