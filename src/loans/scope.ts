import type { Context } from "../app/context.ts";
import { type LoanScope, loanScopeOf } from "../core/access.ts";
import type { ReadTx, Tx } from "../store/store.ts";

/** Reads of committed loan rows that the caller may see. Errors: those of loanScopeOf. */
export function loanReadTx({ store, actor, now }: Context): ReadTx<LoanScope> {
  return { q: store.read, scope: loanScopeOf(actor), now };
}

/** Runs `work` in one transaction of the caller on loans; see Store.tx. Errors: those of loanScopeOf. */
export async function loanTransaction<T>(
  { store, actor, now }: Context,
  work: (tx: Tx<LoanScope>) => Promise<T>,
): Promise<T> {
  const scope = loanScopeOf(actor);
  return store.tx((q) => work({ q, scope, now }));
}
