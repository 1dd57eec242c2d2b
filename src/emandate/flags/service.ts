import { operation } from "../../app/operation.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, paged } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import { ListMandateFlags, MandateFlag, ResolveMandateFlag } from "./model.ts";
import * as queries from "./queries.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists flags, newest first, always in pages. Decision 0135. */
export const listMandateFlags = operation({
  name: "list_mandate_flags",
  permission: "emandate:read",
  input: ListMandateFlags,
  output: paged(MandateFlag),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listFlags(readTx(ctx), filter, slice),
    ),
});

/** Finds one flag. Errors: not_found. */
export const getMandateFlag = operation({
  name: "get_mandate_flag",
  permission: "emandate:read",
  input: ById,
  output: MandateFlag,
  run: (ctx, { id }) => findFlag(readTx(ctx), id),
});

/** Resolves a flag with a note; nothing else changes. Errors: not_found, conflict where it is resolved. */
export const resolveMandateFlag = operation({
  name: "resolve_mandate_flag",
  permission: "emandate:write",
  input: ResolveMandateFlag,
  output: MandateFlag,
  run(ctx, { id, note }) {
    const resolved_by = ctx.actor.kind === "user" ? ctx.actor.user_id : null;
    return transaction(ctx, async (tx) => {
      const before = await findFlag(tx, id);
      if (!(await queries.resolveFlag(tx, id, { note, resolved_by }))) {
        throw new AppError("conflict", `Cannot resolve flag ${id}: it is resolved`);
      }
      const after = await findFlag(tx, id);
      ctx.annotateAudit({ before, after });
      return after;
    });
  },
});

/** Errors: not_found. */
async function findFlag(tx: ReadTx, id: number): Promise<MandateFlag> {
  return orNotFound(await queries.findFlag(tx, id), "Flag", id);
}
