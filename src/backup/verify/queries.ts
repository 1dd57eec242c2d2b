import { eq } from "drizzle-orm";
import { instant, iso } from "../../core/time.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { findRow } from "../../store/list_rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import type { Verification } from "./report.ts";
import { backupVerificationTable } from "./tables.ts";

/** The one row's. */
const ID = 1;

/** What the last verification found; undefined where none is on record. */
export async function findVerification(q: Reads): Promise<Verification | undefined> {
  const t = q.use(backupVerificationTable);
  const { verified_at, well_at, bills_unproved } = t;
  const row = await findRow(q, t, {
    columns: { verified_at, well_at, bills_unproved },
    where: eq(t.id, ID),
  });
  if (row === undefined) return undefined;
  return {
    verified_at: instant(row.verified_at),
    well_at: row.well_at === null ? null : instant(row.well_at),
    bills_unproved: row.bills_unproved,
  };
}

/** Records what a verification found, unless a later one is on record. */
export async function saveVerification(q: Queries, found: Verification): Promise<void> {
  const t = q.use(backupVerificationTable);
  const known = await findVerification(q);
  if (known !== undefined && !isLater(found.verified_at, known.verified_at)) return;
  const well_at = found.well_at ?? known?.well_at ?? null;
  const row = {
    verified_at: iso(found.verified_at),
    well_at: well_at === null ? null : iso(well_at),
    bills_unproved: found.bills_unproved,
  };
  if (known === undefined) await insertRows(q, t, [{ id: ID, ...row }]);
  else await q.update(t).set(row).where(eq(t.id, ID));
}

const isLater = (one: Temporal.Instant, other: Temporal.Instant): boolean =>
  Temporal.Instant.compare(one, other) > 0;
