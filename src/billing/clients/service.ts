import { operation } from "../../app/operation.ts";
import { inUse, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { countActiveSubscriptions, listSubscriptionsOf } from "../subscriptions/queries.ts";
import { deleteUsersOfClient } from "../../access/users/queries.ts";
import { Client, CreateClient, ListClients, UpdateClient } from "../../tenancy/clients/model.ts";
import { ClientDetail } from "./model.ts";
import * as queries from "../../tenancy/clients/queries.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists the company's clients by id; whole when no page is asked for. */
export const listClients = operation({
  name: "list_clients",
  permission: "clients:read",
  input: ListClients,
  output: listed(Client),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listClients(readTx(ctx), filter, slice)),
});

/** Finds one client with its subscriptions. Errors: not_found. */
export const getClient = operation({
  name: "get_client",
  permission: "clients:read",
  input: ById,
  output: ClientDetail,
  async run(ctx, { id }) {
    const tx = readTx(ctx);
    const client = orNotFound(await queries.findClient(tx, id), "Client", id);
    return { ...client, subscriptions: await listSubscriptionsOf(tx, id) };
  },
});

/** Creates a client. */
export const createClient = operation({
  name: "create_client",
  permission: "clients:write",
  input: CreateClient,
  output: Client,
  run: (ctx, { name }) =>
    transaction(ctx, async (tx) => {
      const client = await queries.insertClient(tx, name);
      await recordEvents(tx, [{ type: "client.created", data: { id: client.id } }]);
      return client;
    }),
});

/** Renames a client. Errors: not_found. */
export const updateClient = operation({
  name: "update_client",
  permission: "clients:write",
  input: UpdateClient,
  output: Client,
  run: (ctx, { id, name }) =>
    transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findClient(tx, id), "Client", id);
      const client = orNotFound(await queries.updateClient(tx, id, { name }), "Client", id);
      ctx.annotateAudit({ before, after: client });
      await recordEvents(tx, [{ type: "client.updated", data: { id } }]);
      return client;
    }),
});

/**
 * Deletes a client and its users; its ended subscriptions and their bills stay on record.
 * Errors: not_found, conflict while it has active subscriptions.
 */
export const deleteClient = operation({
  name: "delete_client",
  permission: "clients:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const active = await countActiveSubscriptions(tx, { client_id: id });
      if (active > 0) throw inUse("client", id, active);
      orNotFound(await queries.updateClient(tx, id, { deleted_at: iso(ctx.now) }), "Client", id);
      await deleteUsersOfClient(tx, id);
      await recordEvents(tx, [{ type: "client.deleted", data: { id } }]);
      return {};
    }),
});
