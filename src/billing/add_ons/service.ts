import { isDeepStrictEqual } from "node:util";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { AppError, inUse, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { readGranted } from "../billing_models/read_model.ts";
import type { Meter } from "../meters/model.ts";
import { findMeters } from "../meters/queries.ts";
import { countBookingSubscriptions, isBooked } from "../subscription_add_ons/queries.ts";
import { AddOn, type AddOnChargeInput, CreateAddOn, ListAddOns, UpdateAddOn } from "./model.ts";
import * as queries from "./queries.ts";
import { readPricing } from "./rules.ts";

/** Lists the company's add-ons by id, archived ones left out; whole when no page is asked for. */
export const listAddOns = operation({
  name: "list_add_ons",
  permission: "billing_models:read",
  input: ListAddOns,
  output: listed(AddOn),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listAddOns(readTx(ctx), filter, slice)),
});

/** Finds one add-on. Errors: not_found. */
export const getAddOn = operation({
  name: "get_add_on",
  permission: "billing_models:read",
  input: ById,
  output: AddOn,
  run: async (ctx, { id }) => orNotFound(await queries.findAddOn(readTx(ctx), id), "Add-on", id),
});

/** Creates an add-on. Errors: invalid, naming every broken rule of its charge, or a code that is taken. */
export const createAddOn = operation({
  name: "create_add_on",
  permission: "billing_models:write",
  input: CreateAddOn,
  output: AddOn,
  run: (ctx, { name, entitlements: given = [], ...input }) =>
    transaction(ctx, async (tx) => {
      const pricing = readPricing(input, await meterOf(tx, input.charge));
      const entitlements = await readGranted(tx, given);
      const add_on = await queries.insertAddOn(tx, { name, ...pricing, entitlements });
      await recordEvents(tx, [event("add_on.created", add_on)]);
      return add_on;
    }),
});

/**
 * Replaces an add-on's name, and what else is given before a subscription has booked it. Errors: not_found, invalid,
 * conflict for another code, currency or charge after that; entitlements may change.
 */
export const updateAddOn = operation({
  name: "update_add_on",
  permission: "billing_models:write",
  input: UpdateAddOn,
  output: AddOn,
  run: (ctx, { id, name, ...given }) =>
    transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findAddOn(tx, id), "Add-on", id);
      const { code = before.code, currency = before.currency, charge = before.charge } = given;
      const entitlements = given.entitlements
        ? await readGranted(tx, given.entitlements)
        : (before.entitlements ?? []);
      const pricing = readPricing({ code, currency, charge }, await meterOf(tx, charge));
      if (!isDeepStrictEqual({ ...before, ...pricing }, before) && (await isBooked(tx, id))) {
        throw new AppError(
          "conflict",
          `Cannot change what add-on ${id} charges: subscriptions have booked it. Create a new add-on`,
        );
      }
      const fields = { name, ...pricing, entitlements };
      const add_on = orNotFound(await queries.updateAddOn(tx, id, fields), "Add-on", id);
      await recordEvents(tx, [event("add_on.updated", add_on)]);
      ctx.annotateAudit({ before, after: add_on });
      return add_on;
    }),
});

/**
 * Archives an add-on: it can't be booked any more, bills still show it. Errors: not_found, conflict while active
 * subscriptions have it.
 */
export const deleteAddOn = operation({
  name: "delete_add_on",
  permission: "billing_models:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const active = await countBookingSubscriptions(tx, id);
      if (active > 0) throw inUse("add-on", id, active);
      const archived = await queries.updateAddOn(tx, id, { status: "archived" });
      await recordEvents(tx, [event("add_on.deleted", orNotFound(archived, "Add-on", id))]);
      return {};
    }),
});

async function meterOf(tx: ReadTx, { meter_id = null }: AddOnChargeInput): Promise<Map<number, Meter>> {
  return findMeters(tx, meter_id === null ? [] : [meter_id]);
}

function event(type: NewEvent["type"], { id, code }: AddOn): NewEvent {
  return { type, data: { id, code } };
}
