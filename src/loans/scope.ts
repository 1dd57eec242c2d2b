import type { Context } from "../app/context.ts";
import { readTx, transaction } from "../app/transaction.ts";
import { type Actor, type Environment, environmentOf, scopeOf } from "../core/access.ts";
import type { ReadTx, Tx } from "../store/store.ts";

/** The loan rows a query may see: one company, one environment and, for loan agents, their own. */
export interface LoanScope {
  company_id: number;
  environment: Environment;
  /** Present for loan agents: the first of the keys that continue one another's work. */
  agent_key_id?: number;
}

/** The loan rows the actor may see. Errors: forbidden for an actor that works in no environment. */
export function loanScopeOf(actor: Actor): LoanScope {
  const { company_id } = scopeOf(actor);
  const environment = environmentOf(actor);
  const is_agent = actor.kind === "key" && actor.role === "agent";
  return { company_id, environment, ...(is_agent ? { agent_key_id: actor.agent_key_id } : {}) };
}

/** As readTx, for the loan rows that the caller may see. Errors: those of loanScopeOf. */
export function loanReadTx(ctx: Context): ReadTx<LoanScope> {
  return { ...readTx(ctx), scope: loanScopeOf(ctx.actor) };
}

/** As transaction, for the loan rows that the caller may see. Errors: those of loanScopeOf. */
export async function loanTransaction<T>(ctx: Context, work: (tx: Tx<LoanScope>) => Promise<T>): Promise<T> {
  const scope = loanScopeOf(ctx.actor);
  return transaction(ctx, (tx) => work({ ...tx, scope }));
}
