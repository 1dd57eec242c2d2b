import type { Context, AuditDetails, OperationMetadata, Target } from "../app/context.ts";
import { type Actor, type Permission, scopeOf } from "../core/access.ts";
import type { Queries, Tx } from "../store/store.ts";
import { insertEntries, insertEntry } from "./queries.ts";
import { changesBetween, redact } from "./rules.ts";

/** Whether an operation may change records, by its permission. */
export function mayChange(permission: Permission): boolean {
  return !permission.endsWith(":read") && permission !== "session:open";
}

/** Runs an operation with its audit entry: in the transaction of its change, or after an `audited` read. */
export function recordOperation<T>(
  ctx: Context,
  operation: OperationMetadata,
  input: unknown,
  run: (recorded: Context) => Promise<T>,
): Promise<T> {
  if (mayChange(operation.permission)) return run(withAudit(ctx, operation, input));
  return operation.audited ? recordRead(ctx, operation, input, run) : run(ctx);
}

/**
 * Wraps ctx.store so that the first transaction to commit also writes the audit entry and commits the idempotency
 * claim: no change without its entry, no entry without its change, no key carried out twice. Later transactions of the
 * same call add nothing. Decisions 0075, 0076.
 */
function withAudit(ctx: Context, operation: OperationMetadata, input: unknown): Context {
  // Nothing to record: ingest is called too often to pay for the wrapper.
  if (operation.unaudited && ctx.claim === null) return ctx;
  const { store } = ctx;
  const started = new WeakSet<Queries>();
  let is_recorded = false;
  let details: AuditDetails = {};

  async function record(q: Queries, result: unknown): Promise<void> {
    const target = details.target ?? {
      type: operation.target ?? nounOf(operation.name),
      id: idOf(result) ?? idOf(input),
    };
    await ctx.claim?.commit(q, target);
    const company_id = details.company_id ?? companyOf(ctx.actor);
    if (operation.unaudited || company_id === undefined) return;
    await insertEntry(q, { ...entryOf(ctx, operation.name, input, details), company_id, target });
  }

  async function tx<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    let is_outermost = false;
    const result = await store.tx(async (q) => {
      // Nested: the outermost transaction records.
      if (is_recorded || started.has(q)) return work(q);
      started.add(q);
      // After a serialization failure the work runs again, and annotates again.
      details = {};
      const output = await work(q);
      await record(q, output);
      is_outermost = true;
      return output;
    });
    is_recorded ||= is_outermost;
    return result;
  }

  const annotateAudit = (more: AuditDetails) => void (details = { ...details, ...more });
  return { ...ctx, store: { ...store, tx }, annotateAudit };
}

/** The transaction and company of an entry. */
type AuditTx = Pick<Tx, "q" | "scope">;

/**
 * Writes an audit entry attributed to the system actor, in the transaction of the change: for a record changed beside
 * the operation's own, or by an `unaudited` operation.
 */
export async function recordSystemChange(
  call: Omit<AuditSource, "actor">,
  tx: AuditTx,
  operation: string,
  target: Target,
): Promise<void> {
  await recordSystemChanges(call, tx, operation, [{ target }]);
}

/** The same for many records, each with its own input, in one statement. */
export async function recordSystemChanges(
  call: Omit<AuditSource, "actor">,
  { q, scope: { company_id } }: AuditTx,
  operation: string,
  changed: readonly { target: Target; input?: object }[],
): Promise<void> {
  const as_system = { ...call, actor: { kind: "system", company_id } as const };
  const entries = changed.map(({ target, input = {} }) => ({
    ...entryOf(as_system, operation, input, {}),
    company_id,
    target,
  }));
  await insertEntries(q, entries);
}

/** Runs an operation that discloses much, such as an export, and writes its entry before the response. */
async function recordRead<T>(
  ctx: Context,
  { name, target = nounOf(name) }: OperationMetadata,
  input: unknown,
  run: (recorded: Context) => Promise<T>,
): Promise<T> {
  const output = await run(ctx);
  const company_id = companyOf(ctx.actor);
  if (company_id !== undefined) {
    const entry = { ...entryOf(ctx, name, input, {}), company_id, target: { type: target, id: idOf(input) } };
    await ctx.store.tx((q) => insertEntry(q, entry));
  }
  return output;
}

/** The call behind an entry. */
export type AuditSource = Pick<Context, "actor" | "now" | "origin" | "address" | "request_id">;

/** An entry without its company and target. */
export function entryOf(
  source: AuditSource,
  operation: string,
  input: unknown,
  { before, after }: AuditDetails,
) {
  const { actor, now: at, origin, address, request_id } = source;
  const { value, withheld } = redact(input);
  return {
    at,
    actor: actorOf(actor),
    origin,
    address,
    request_id,
    operation,
    outcome: "ok" as const,
    input: typeof value === "object" && value !== null && !Array.isArray(value) ? value : {},
    withheld,
    changes: before && after ? changesBetween(before, after) : null,
  };
}

function actorOf(actor: Actor) {
  if (actor.kind === "key") return { kind: actor.kind, key_id: actor.key_id };
  return actor.kind === "user" ? actor : { kind: actor.kind };
}

function companyOf(actor: Actor): number | undefined {
  return actor.kind === "anonymous" || actor.kind === "operator" ? undefined : scopeOf(actor).company_id;
}

/** `cancel_subscription` → `subscription`. */
export function nounOf(operation: string): string {
  return operation.slice(operation.indexOf("_") + 1);
}

function idOf(value: unknown): Target["id"] {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  return typeof value.id === "number" ? value.id : null;
}
