import { and, eq, gt, isNull, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { kept } from "../../store/kept.ts";
import type { Reads } from "../../store/store.ts";

/** Whom an access token speaks for. */
export interface Access {
  authorization_id: number;
  user_id: number;
}

const accessByHash = kept<Access[]>("access_by_hash", (q) => {
  const { authorizations: a, authorization_tokens: t } = q.tables;
  return q
    .select({ authorization_id: a.id, user_id: a.user_id })
    .from(t)
    .innerJoin(a, eq(a.id, t.authorization_id))
    .where(
      and(
        eq(t.hash, sql.placeholder("hash")),
        eq(t.kind, "access"),
        gt(t.expires_at, sql.placeholder("now")),
        isNull(a.ended_at),
      ),
    );
});

/** What an access token stands for, while it holds: whoever asks with it is nobody yet, and so has no scope. */
export async function findAccess(q: Reads, hash: string, now: Temporal.Instant): Promise<Access | undefined> {
  const [access] = await accessByHash(q, { hash, now: iso(now) });
  return access;
}
