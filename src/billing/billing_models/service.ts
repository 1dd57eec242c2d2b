import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { AppError, invalid, inUse, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { BILLING_TYPES } from "./billing_types.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { isModelUsed } from "../billing_model_changes/model_use.ts";
import { countScheduledChangesTo } from "../billing_model_changes/queries.ts";
import { countActiveSubscriptions } from "../subscriptions/queries.ts";
import {
  BillingModel,
  BillingTypeInfo,
  CopyBillingModel,
  CreateBillingModel,
  ListBillingModels,
  UpdateBillingModel,
} from "./model.ts";
import * as queries from "./queries.ts";
import { DEFAULT_PRICING, isSamePrice, mergePricing } from "./rules.ts";
import { findMetersOf, readGranted, readNewModel, requireClient } from "./read_model.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists the billing types, which are the same for every company. */
export const listBillingTypes = operation({
  name: "list_billing_types",
  permission: "billing_models:read",
  input: Nothing,
  output: Type.Array(BillingTypeInfo),
  run: async () =>
    BILLING_TYPES.map(({ id, billing_type, price, needs, optional }) => ({
      id,
      name: billing_type,
      price_means: price,
      needs: [...needs],
      optional: [...optional],
    })),
});

/**
 * Lists the company's billing models by id, archived ones left out; whole when no page is asked for. A client user sees
 * those made for its client.
 */
export const listBillingModels = operation({
  name: "list_billing_models",
  permission: "billing_models:read",
  input: ListBillingModels,
  output: listed(BillingModel),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listBillingModels(readTx(ctx), filter, slice)),
});

/** Finds one billing model. Errors: not_found. */
export const getBillingModel = operation({
  name: "get_billing_model",
  permission: "billing_models:read",
  input: ById,
  output: BillingModel,
  run: async (ctx, { id }) =>
    orNotFound(await queries.findBillingModel(readTx(ctx), id), "Billing model", id),
});

/** Creates a billing model. Errors: invalid, naming every broken rule of its billing type. */
export const createBillingModel = operation({
  name: "create_billing_model",
  permission: "billing_models:write",
  input: CreateBillingModel,
  output: BillingModel,
  run: (ctx, input) =>
    transaction(ctx, async (tx) => {
      const model = await queries.insertBillingModel(tx, await readNewModel(tx, input));
      await recordEvents(tx, [event("billing_model.created", model)]);
      return model;
    }),
});

/**
 * Copies a billing model for one client, whose subscriptions alone may take the copy: price fields left out are those
 * of the original. Errors: not_found, invalid. Decision 0245.
 */
export const copyBillingModel = operation({
  name: "copy_billing_model",
  permission: "billing_models:write",
  target: "billing_model",
  input: CopyBillingModel,
  output: BillingModel,
  run: (ctx, { id, name, description, plan_code = null, for_client_id, entitlements, ...input }) =>
    transaction(ctx, async (tx) => {
      const original = orNotFound(await queries.findBillingModel(tx, id), "Billing model", id);
      if (original.purpose === "cost")
        throw new AppError("conflict", `Cannot copy billing model ${id} for a client: its purpose is cost`);
      await requireClient(tx, for_client_id);
      const before = { ...DEFAULT_PRICING, ...original };
      const pricing = mergePricing(before, input, await findMetersOf(tx, before, input));
      const model = await queries.insertBillingModel(tx, {
        purpose: "price",
        name: name ?? original.name,
        description: description ?? original.description,
        plan_code,
        for_client_id,
        entitlements: entitlements ? await readGranted(tx, entitlements) : (original.entitlements ?? []),
        ...pricing,
      });
      await recordEvents(tx, [event("billing_model.created", model)]);
      return model;
    }),
});

/**
 * Replaces a billing model's name and description, and its price and its client before its first use; fields left out
 * stay. Errors: not_found, invalid, conflict for a change of price or client after first use. Decision 0011.
 */
export const updateBillingModel = operation({
  name: "update_billing_model",
  permission: "billing_models:write",
  input: UpdateBillingModel,
  output: BillingModel,
  run: (ctx, { id, name, description, plan_code, for_client_id, entitlements, ...input }) =>
    transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findBillingModel(tx, id), "Billing model", id);
      const old = { ...DEFAULT_PRICING, ...before };
      const pricing = mergePricing(old, input, await findMetersOf(tx, old, input));
      const offer = {
        plan_code: plan_code === undefined ? (before.plan_code ?? null) : plan_code,
        for_client_id: for_client_id === undefined ? (before.for_client_id ?? null) : for_client_id,
        entitlements: entitlements ? await readGranted(tx, entitlements) : (before.entitlements ?? []),
      };
      const is_for_another = offer.for_client_id !== (before.for_client_id ?? null);
      if (offer.for_client_id !== null && before.purpose === "cost")
        throw invalid("/for_client_id", "must be left out: no client may take a model of purpose cost");
      if (is_for_another) await requireClient(tx, offer.for_client_id);
      if ((is_for_another || !isSamePrice(old, pricing)) && (await isModelUsed(tx, id))) {
        const what = is_for_another ? "client" : "price";
        throw new AppError(
          "conflict",
          `Cannot change the ${what} of billing model ${id}: subscriptions have used it. ` +
            "Create a new billing model and schedule a billing model change",
        );
      }
      const change = { name, description, ...offer, ...pricing };
      const model = orNotFound(await queries.updateBillingModel(tx, id, change), "Billing model", id);
      await recordEvents(tx, [event("billing_model.updated", model)]);
      ctx.annotateAudit({ before, after: model });
      return model;
    }),
});

/**
 * Archives a billing model: it can't be chosen any more, bills still show it. Errors: not_found, conflict while
 * subscriptions that have not ended use it, or scheduled changes lead to it.
 */
export const deleteBillingModel = operation({
  name: "delete_billing_model",
  permission: "billing_models:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const active = await countActiveSubscriptions(tx, { billing_model_id: id });
      if (active > 0) throw inUse("billing model", id, active);
      const scheduled = await countScheduledChangesTo(tx, id);
      if (scheduled > 0) {
        const changes = scheduled === 1 ? "a scheduled change turns" : `${scheduled} scheduled changes turn`;
        throw new AppError("conflict", `Cannot delete billing model ${id}: ${changes} to it`);
      }
      const archived = await queries.updateBillingModel(tx, id, { status: "archived" });
      const model = orNotFound(archived, "Billing model", id);
      await recordEvents(tx, [event("billing_model.deleted", model)]);
      return {};
    }),
});

function event(type: NewEvent["type"], { id, status }: BillingModel): NewEvent {
  return { type, data: { id, status } };
}
