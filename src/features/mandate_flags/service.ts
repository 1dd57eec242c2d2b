import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/page.ts";
import { ById, paged } from "../../core/schema.ts";
import { ListMandateFlags, MandateFlag, ResolveMandateFlag } from "./model.ts";
import * as queries from "./queries.ts";

/** Lists what a person must decide about debits and mandates, newest first, always by pages. Decision 0135. */
export const listMandateFlags = operation({
  name: "list_mandate_flags",
  permission: "emandate:read",
  input: ListMandateFlags,
  output: paged(MandateFlag),
  run: ({ store, actor }, { page, limit, ...filter }) =>
    pagedList({ page, limit }, LIMITS.page_limit_default, (slice) =>
      queries.listFlags(store.read, scopeOf(actor), filter, slice),
    ),
});

/** Finds one flag. Errors: not_found. */
export const getMandateFlag = operation({
  name: "get_mandate_flag",
  permission: "emandate:read",
  input: ById,
  output: MandateFlag,
  async run({ store, actor }, { id }) {
    const flag = await queries.findFlag(store.read, scopeOf(actor), id);
    if (!flag) throw notFound("Flag", id);
    return flag;
  },
});

/**
 * Says how a flag was resolved; nothing else changes by it. Errors: not_found, conflict where it is resolved.
 */
export const resolveMandateFlag = operation({
  name: "resolve_mandate_flag",
  permission: "emandate:write",
  input: ResolveMandateFlag,
  output: MandateFlag,
  run({ store, actor, now, note: tell }, { id, note }) {
    const scope = scopeOf(actor);
    const resolved_by = actor.kind === "user" ? actor.user_id : null;
    return store.tx(async (q) => {
      const before = await queries.findFlag(q, scope, id);
      if (!before) throw notFound("Flag", id);
      if (!(await queries.resolveFlag(q, scope, now, id, { note, resolved_by }))) {
        throw new AppError("conflict", `Cannot resolve flag ${id}: it is resolved`);
      }
      const after = await queries.findFlag(q, scope, id);
      if (!after) throw notFound("Flag", id);
      tell({ before, after });
      return after;
    });
  },
});
