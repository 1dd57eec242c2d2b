import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import type { ReadTx } from "../../store/store.ts";
import { findSelfService } from "../../tenancy/companies/queries.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { findStoredModels, listBillingModels } from "../billing_models/queries.ts";
import type { CANCEL_TIMES } from "../subscriptions/model.ts";
import { findSubscription } from "../subscriptions/queries.ts";

/**
 * The caller with all of its company's records in view: the plans that a client may choose are not its own. What the
 * client itself may see was checked before.
 */
function withCompanyInView(ctx: Context): Context {
  const { actor } = ctx;
  return actor.kind === "user" ? { ...ctx, actor: { ...actor, client_id: null } } : ctx;
}

const notAllowed = (what: string) =>
  new AppError("forbidden", `Your provider does not let you ${what} yourself: ask them to do it`);

/** Whether a client user may switch to a plan. Returns what does it. Errors: not_found, forbidden, invalid. */
export async function allowSwitch(
  ctx: Context,
  way: "upgrade" | "downgrade",
  { id, new_billing_model_id }: { id: number; new_billing_model_id: number },
): Promise<Context> {
  const tx = readTx(ctx);
  orNotFound(await findSubscription(tx, id), "Subscription", id);
  const self_service = await findSelfService(tx);
  if (!self_service[way]) throw notAllowed(`${way} a subscription`);
  const offered = await findOffered(tx, [new_billing_model_id]);
  if (offered.length === 0) throw invalid("/new_billing_model_id", "names no plan that you may choose");
  return withCompanyInView(ctx);
}

/** Whether a client user may cancel a subscription. Returns what does it. Errors: not_found, forbidden. */
export async function allowCancel(
  ctx: Context,
  { id, at }: { id: number; at: (typeof CANCEL_TIMES)[number] },
): Promise<Context> {
  const tx = readTx(ctx);
  orNotFound(await findSubscription(tx, id), "Subscription", id);
  const { cancel } = await findSelfService(tx);
  if (cancel === undefined) throw notAllowed("cancel a subscription");
  if (at === "now" && cancel !== "now") throw notAllowed("cancel before the end of a period");
  return withCompanyInView(ctx);
}

/** The plans that a client may choose: those that the company offers, and those made for it. */
export async function listOffered(ctx: Context): Promise<StoredBillingModel[]> {
  const tx = readTx(ctx);
  const { upgrade, downgrade, plans = [] } = await findSelfService(tx);
  if (!upgrade && !downgrade) return [];
  const own = await listBillingModels(tx, {}, { offset: 0, limit: SHARED_LIMITS.list_rows });
  const ids = [...new Set([...plans, ...own.rows.map(({ id }) => id)])];
  return (await findOffered(tx, ids)).toSorted((a, b) => a.id - b.id);
}

/** Those of the plans that a client may choose. */
async function findOffered(tx: ReadTx, ids: readonly number[]): Promise<StoredBillingModel[]> {
  const { plans = [] } = await findSelfService(tx);
  const { client_id } = tx.scope;
  const models = await findStoredModels(tx, ids);
  return [...models.values()].filter(
    ({ id, status, purpose, for_client_id }) =>
      status === "active" &&
      purpose === "price" &&
      (for_client_id === null ? plans.includes(id) : for_client_id === client_id),
  );
}
