import { and, eq, sql } from "drizzle-orm";
import { iso } from "../core/time.ts";
import type { Store } from "./store.ts";

/**
 * Takes the named lease for `duration` when it is free, expired or already the holder's: of many instances
 * one runs a job. Returns whether it was taken.
 */
export async function takeLease(
  store: Store,
  name: string,
  holder: string,
  now: Temporal.Instant,
  duration: Temporal.Duration,
): Promise<boolean> {
  const { leases } = store.read.tables;
  const expires_at = iso(now.add(duration));
  return store.tx(async (q) => {
    const taken = await q
      .insert(leases)
      .values({ name, holder, expires_at })
      .onConflictDoUpdate({
        target: leases.name,
        set: { holder, expires_at },
        setWhere: sql`${leases.holder} = ${holder} OR ${leases.expires_at} <= ${iso(now)}`,
      })
      .returning();
    return taken.length === 1;
  });
}

/** Gives the lease back, if it is still the holder's. */
export async function releaseLease(store: Store, name: string, holder: string): Promise<void> {
  await store.tx(async (q) => {
    const { leases } = q.tables;
    await q.delete(leases).where(and(eq(leases.name, name), eq(leases.holder, holder)));
  });
}
