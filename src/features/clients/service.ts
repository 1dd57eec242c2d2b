import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { inUse, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/page.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { recordEvents } from "../events/queries.ts";
import { countActiveSubscriptions, listSubscriptionsOf } from "../subscriptions/queries.ts";
import { deleteUsersOfClient } from "../users/queries.ts";
import { Client, ClientDetail, CreateClient, ListClients, UpdateClient } from "./model.ts";
import * as queries from "./queries.ts";

/** Lists the company's clients by id; whole when no page is asked for. */
export const listClients = operation({
  name: "list_clients",
  permission: "clients:read",
  input: ListClients,
  output: listed(Client),
  run: ({ store, actor }, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listClients(store.read, scopeOf(actor), filter, slice)),
});

/** Finds one client with its subscriptions. Errors: not_found. */
export const getClient = operation({
  name: "get_client",
  permission: "clients:read",
  input: ById,
  output: ClientDetail,
  async run({ store, actor, now }, { id }) {
    const scope = scopeOf(actor);
    const client = await queries.findClient(store.read, scope, id);
    if (!client) throw notFound("Client", id);
    return { ...client, subscriptions: await listSubscriptionsOf(store.read, scope, now, { client_id: id }) };
  },
});

/** Creates a client. */
export const createClient = operation({
  name: "create_client",
  permission: "clients:write",
  input: CreateClient,
  output: Client,
  run: ({ store, actor, now }, { name }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const client = await queries.insertClient(q, scope, now, name);
      await recordEvents(q, scope, now, [{ type: "client.created", data: { id: client.id } }]);
      return client;
    }),
});

/** Renames a client. Errors: not_found. */
export const updateClient = operation({
  name: "update_client",
  permission: "clients:write",
  input: UpdateClient,
  output: Client,
  run: ({ store, actor, now, note }, { id, name }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const before = await queries.findClient(q, scope, id);
      const client = await queries.updateClient(q, scope, now, id, { name });
      if (!before || !client) throw notFound("Client", id);
      note({ before, after: client });
      await recordEvents(q, scope, now, [{ type: "client.updated", data: { id } }]);
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
  input: ById,
  output: Nothing,
  run: ({ store, actor, now }, { id }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const active = await countActiveSubscriptions(q, scope, now, { client_id: id });
      if (active > 0) throw inUse("client", id, active);
      const client = await queries.updateClient(q, scope, now, id, { deleted_at: iso(now) });
      if (!client) throw notFound("Client", id);
      await deleteUsersOfClient(q, scope, id);
      await recordEvents(q, scope, now, [{ type: "client.deleted", data: { id } }]);
      return {};
    }),
});
