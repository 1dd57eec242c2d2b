import { scopeOf } from "../core/access.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import type { Context } from "./context.ts";

/** Reads of committed rows that the caller may see. Errors: unauthorized for an actor of no company. */
export function readTx({ store, actor, now }: Pick<Context, "store" | "actor" | "now">): ReadTx {
  return { q: store.read, scope: scopeOf(actor), now };
}

/**
 * Runs `work` in one transaction of the caller and commits when it resolves; see Store.tx.
 * Errors: unauthorized for an actor of no company.
 */
export async function transaction<T>(
  { store, actor, now }: Context,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const scope = scopeOf(actor);
  return store.tx((q) => work({ q, scope, now }));
}
