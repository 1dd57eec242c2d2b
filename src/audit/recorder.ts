import type { Context, AuditDetails, OperationMetadata, Target } from "../app/context.ts";
import { type Actor, type Permission, type Scope, scopeOf } from "../core/access.ts";
import type { Queries } from "../store/store.ts";
import { insertEntries, insertEntry } from "./queries.ts";
import { changesBetween, redact } from "./rules.ts";

/** Whether an operation may change records, by its permission. */
export function mayChange(permission: Permission): boolean {
  return !permission.endsWith(":read") && permission !== "session:open";
}

/** Runs an operation with its audit entry: of a change in its transaction, of an `audited` reading after it. */
export function recordOperation<T>(
  ctx: Context,
  operation: OperationMetadata,
  input: unknown,
  run: (recorded: Context) => Promise<T>,
): Promise<T> {
  if (mayChange(operation.permission)) return run(withAudit(ctx, operation, input));
  return operation.audited ? recordReading(ctx, operation, input, run) : run(ctx);
}

/**
 * The context of an operation that may change records. Its first transaction that commits also holds the entry
 * in the audit log, and says of the request's Idempotency-Key that it was carried out: there is no change
 * without its entry, no entry without its change, and no key that is carried out twice. Later transactions of
 * the same call add nothing. Decisions 0075, 0076.
 */
function withAudit(ctx: Context, operation: OperationMetadata, input: unknown): Context {
  // Nothing to tell, and nobody to tell it: ingest is called too often to pay for that.
  if (operation.unaudited && ctx.claim === null) return ctx;
  const { store } = ctx;
  const started = new WeakSet<Queries>();
  let is_recorded = false;
  let notes: AuditDetails = {};

  async function record(q: Queries, result: unknown): Promise<void> {
    const target = notes.target ?? {
      type: operation.target ?? nounOf(operation.name),
      id: idOf(result) ?? idOf(input),
    };
    await ctx.claim?.commit(q, target);
    const company_id = notes.company_id ?? companyOf(ctx.actor);
    if (operation.unaudited || company_id === undefined) return;
    await insertEntry(q, { ...entryOf(ctx, operation.name, input, notes), company_id, target });
  }

  async function tx<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    let is_outermost = false;
    const result = await store.tx(async (q) => {
      // Nested: the outermost tells.
      if (is_recorded || started.has(q)) return work(q);
      started.add(q);
      // Run again after a serialization failure, it notes again.
      notes = {};
      const output = await work(q);
      await record(q, output);
      is_outermost = true;
      return output;
    });
    is_recorded ||= is_outermost;
    return result;
  }

  const annotateAudit = (more: AuditDetails) => void (notes = { ...notes, ...more });
  // Copied as it stands: the address is only found out when it is asked for.
  const audited: Context = Object.defineProperties(
    Object.create(null),
    Object.getOwnPropertyDescriptors(ctx),
  );
  return Object.assign(audited, { store: { ...store, tx }, annotateAudit });
}

/**
 * Writes the entry of one record that the house changes beside what was asked of it, or among many: for operations
 * that are `unaudited` themselves. In the transaction of the change.
 */
export async function recordSystemChange(
  call: Omit<AuditSource, "actor">,
  q: Queries,
  scope: Scope,
  operation: string,
  target: Target,
): Promise<void> {
  await recordSystemChanges(call, q, scope, operation, [{ target }]);
}

/** The same for many records, each with what led to its change, by one statement. */
export async function recordSystemChanges(
  call: Omit<AuditSource, "actor">,
  q: Queries,
  { company_id }: Scope,
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

/** Runs an operation that changes nothing, an export or a download, and writes its entry before it is answered. */
async function recordReading<T>(
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

/** What an entry tells of the call. */
export type AuditSource = Pick<Context, "actor" | "now" | "origin" | "address" | "request_id">;

/** All of an entry but whose it is and what it is about. */
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
