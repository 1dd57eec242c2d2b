import type { Context } from "../app/context.ts";
import { call } from "../app/operation.ts";
import { listErasedIds, writeErasedIds, writeErasedPeople } from "../backup/erased_ids.ts";
import { openTarget } from "../backup/open_target.ts";
import type { Target } from "../backup/target.ts";
import { listUnshippedPeople, markPeopleShipped } from "../people/service.ts";
import { listUnshippedIds, markIdsShipped } from "../usage/erasures/service.ts";

/** Writes the ids of erased events and people beside the backups, where there are any. */
export async function shipErasures(ctx: Context): Promise<void> {
  const { backup_url } = ctx.config;
  if (backup_url === null) return;
  const target = openTarget(backup_url);
  await shipIds(ctx, target);
  await shipPeople(ctx, target);
}

async function shipIds(ctx: Context, target: Target): Promise<void> {
  while (!ctx.background.is_stopping) {
    const { rows } = await call(ctx, listUnshippedIds, {});
    if (rows.length === 0) break;
    const there = await listErasedIds(target);
    for (const row of rows) {
      await writeErasedIds(target, row, there);
      await call(ctx, markIdsShipped, { id: row.id });
    }
  }
}

async function shipPeople(ctx: Context, target: Target): Promise<void> {
  while (!ctx.background.is_stopping) {
    const { rows } = await call(ctx, listUnshippedPeople, {});
    if (rows.length === 0) break;
    const there = await listErasedIds(target);
    for (const row of rows) {
      await writeErasedPeople(target, row, there);
      await call(ctx, markPeopleShipped, { id: row.id });
    }
  }
}
