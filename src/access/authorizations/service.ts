import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import type { Actor } from "../../core/access.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { Authorization, ListAuthorizations } from "./model.ts";
import * as queries from "./queries.ts";

/** Lists the signed-in user's active authorizations, newest first. */
export const listAuthorizations = operation({
  name: "list_authorizations",
  permission: "profile:read",
  input: ListAuthorizations,
  output: listed(Authorization),
  run: (ctx, page) =>
    listPage(page, (slice) => queries.listAuthorizations(readTx(ctx), userOf(ctx.actor), slice)),
});

/** Ends one of them, with all its tokens. Errors: not_found. */
export const endAuthorization = operation({
  name: "end_authorization",
  permission: "profile:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    await transaction(ctx, async (tx) => {
      if (!(await queries.endAuthorization(tx, userOf(ctx.actor), id))) throw notFound("Authorization", id);
    });
    return {};
  },
});

function userOf(actor: Actor): number {
  if (actor.kind === "user") return actor.user_id;
  throw new AppError("not_found", "Only a signed-in user has authorizations");
}
