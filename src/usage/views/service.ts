import type { Static } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { type Actor, may } from "../../core/access.ts";
import { AppError, invalidAll, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { checkQuestion } from "../series/check_question.ts";
import { CreateView, ListViews, QUESTION_VERSION, UpdateView, UsageView } from "./model.ts";
import * as queries from "./queries.ts";

/** Lists the caller's own views and those shared with the company's users, by id. Decision 0277. */
export const listViews = operation({
  name: "list_views",
  permission: "usage:read",
  input: ListViews,
  output: paged(UsageView),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listViews(readTx(ctx), userOf(ctx.actor), filter, slice),
    ),
});

/** Finds one view. Errors: not_found, also where it is another user's own. */
export const getView = operation({
  name: "get_view",
  permission: "usage:read",
  input: ById,
  output: UsageView,
  run: (ctx, { id }) => seen(readTx(ctx), ctx.actor, id),
});

/**
 * Saves a question under a name, for the caller alone or shared with the company's users. Errors: invalid and forbidden
 * as when the question is asked; forbidden for sharing without usage:write; conflict at the limit of views.
 */
export const createView = operation({
  name: "create_view",
  permission: "views:write",
  input: CreateView,
  output: UsageView,
  async run(ctx, input) {
    const user_id = userOf(ctx.actor);
    const view = await read(ctx, input);
    return transaction(ctx, async (tx) => {
      if ((await queries.countOwnViews(tx, user_id)) >= LIMITS.usage_views)
        throw new AppError("conflict", `Cannot save a view: you have ${LIMITS.usage_views} already`);
      return queries.insertView(tx, user_id, view);
    });
  },
});

/** Replaces a view. Errors: not_found, and those of `createView`; forbidden for a shared one without usage:write. */
export const updateView = operation({
  name: "update_view",
  permission: "views:write",
  input: UpdateView,
  output: UsageView,
  async run(ctx, { id, ...input }) {
    const view = await read(ctx, input);
    return transaction(ctx, async (tx) => {
      const before = await changeable(tx, ctx.actor, id);
      const after = await queries.updateView(tx, id, view);
      ctx.annotateAudit({ before, after });
      return after;
    });
  },
});

/** Deletes a view. Errors: not_found; forbidden for a shared one without usage:write. */
export const deleteView = operation({
  name: "delete_view",
  permission: "views:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      await changeable(tx, ctx.actor, id);
      await queries.deleteView(tx, id);
      return {};
    }),
});

/** Errors: forbidden for a caller that is no user. */
function userOf(actor: Actor): number {
  if (actor.kind === "user") return actor.user_id;
  throw new AppError("forbidden", "Cannot have views: only users may");
}

async function seen(tx: ReadTx, actor: Actor, id: number): Promise<UsageView> {
  return orNotFound(await queries.findView(tx, userOf(actor), id), "View", id);
}

async function changeable(tx: Tx, actor: Actor, id: number): Promise<UsageView> {
  const view = await seen(tx, actor, id);
  if (view.shared) assertMayShare(actor);
  return view;
}

/** What all of a company's users see is changed by those who may change its usage. */
function assertMayShare(actor: Actor): void {
  if (may(actor, "usage:write")) return;
  throw new AppError(
    "forbidden",
    "Your role does not allow shared views: it needs the permission usage:write",
  );
}

/** A view as it is saved. Errors: forbidden, and invalid naming what is wrong with the question. */
async function read(
  ctx: Context,
  { name, shared = false, question, chart = null }: Static<typeof CreateView>,
): Promise<queries.ViewInput> {
  if (shared) assertMayShare(ctx.actor);
  try {
    await checkQuestion(readTx(ctx), question);
  } catch (error) {
    if (!(error instanceof AppError) || error.details === undefined) throw error;
    throw invalidAll(error.details.map(({ path, message }) => ({ path: `/question${path}`, message })));
  }
  return { name, shared, version: QUESTION_VERSION, question, chart };
}
