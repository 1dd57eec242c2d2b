import { and, eq, isNotNull, isNull, or } from "drizzle-orm";
import { endAuthorizationsOf } from "../access/authorizations/queries.ts";
import { deleteUser, findUser, hasOtherAdmin } from "../access/users/queries.ts";
import { userTable } from "../access/users/tables.ts";
import { auditLogTable } from "../audit/tables.ts";
import { idempotencyKeyTable } from "../idempotency/tables.ts";
import { matching } from "../store/list_rows.ts";
import { countRows, selectRows } from "../store/select_rows.ts";
import type { ReadTx } from "../store/store.ts";
import { blankEntries, change, type SubjectRules } from "./subject_queries.ts";
import { joinTraces, tracesOf } from "./traces.ts";

/** Users, deleted ones included: the audit log has their emails. */
export const USER: SubjectRules = {
  async look(tx, id) {
    const user = await findUser(tx, id);
    const log = tx.q.use(auditLogTable);
    const of_user = matching(log, { company_id: tx.scope.company_id, target_type: "user", target_id: id });
    const audit_log = await countRows(tx.q, log, or(entriesOf(tx, id), of_user));
    if (!user && audit_log === 0) return undefined;
    const is_last = user?.role === "admin" && !(await hasOtherAdmin(tx, id));
    return {
      records: { users: user ? 1 : 0, audit_log },
      blocked: is_last ? "it is the company's only admin" : null,
      kept: null,
    };
  },

  async erase(tx, id) {
    const { q } = tx;
    const user = await findUser(tx, id);
    const log = q.use(auditLogTable);
    const emails = await q
      .selectDistinct({ email: log.email })
      .from(log)
      .where(and(entriesOf(tx, id), isNotNull(log.email)));
    const traces = [...emails, ...(user ? [user] : [])].map(tracesOf);
    await endAuthorizationsOf(tx, id);
    let records = (await deleteUser(tx, id)) ? 1 : 0;
    records += await change(tx, log, { email: null, address: null }, entriesOf(tx, id));
    records += await blankEntries(tx, "user", [id]);
    const keys = q.use(idempotencyKeyTable);
    const deleted = await q
      .delete(keys)
      .where(matching(keys, { company_id: tx.scope.company_id, owner_kind: "user", owner_id: id }))
      .returning({ id: keys.id });
    return { records: records + deleted.length, traces: joinTraces(traces) };
  },
};

/** What the user did, and attempts to sign in as that user: not what others did to it. */
function entriesOf({ q, scope }: ReadTx, id: number) {
  const t = q.use(auditLogTable);
  const attempts = and(eq(t.actor_kind, "anonymous"), matching(t, { target_type: "user", target_id: id }));
  return and(eq(t.company_id, scope.company_id), or(eq(t.user_id, id), attempts));
}

/** The users who have an email, and deleted ones who had it, by the audit log. */
export async function listUsersByEmail(tx: ReadTx, email: string): Promise<number[]> {
  const { q, scope } = tx;
  const present = await listUsersOf(tx, { email });
  const t = q.use(auditLogTable);
  const users = q.use(userTable);
  const rows = await q
    .selectDistinct({ user_id: t.user_id })
    .from(t)
    .leftJoin(users, eq(users.id, t.user_id))
    .where(
      and(eq(t.company_id, scope.company_id), eq(t.email, email), isNotNull(t.user_id), isNull(users.id)),
    );
  return [...present, ...rows.flatMap(({ user_id }) => (user_id === null ? [] : [user_id]))];
}

/** The ids of users. */
export async function listUsersOf(
  tx: ReadTx,
  where: { client_id: number } | { email: string },
): Promise<number[]> {
  const t = tx.q.use(userTable);
  const own = matching(t, { company_id: tx.scope.company_id, ...where });
  return (await selectRows(tx.q, t, { columns: { id: t.id }, where: own })).map(({ id }) => id);
}
