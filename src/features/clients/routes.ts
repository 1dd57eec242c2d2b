import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { Client, ClientDetail, CreateClient, ListClients } from "./model.ts";
import { createClient, deleteClient, getClient, listClients, updateClient } from "./service.ts";

export const clientRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/clients", tags: ["Clients"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listClients, query), {
      query: fromText(ListClients),
      response: answers({ 200: listed(Client) }),
      detail: {
        operationId: listClients.name,
        summary: "List clients",
        description: "Whole, or one page when page or limit is given.",
      },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createClient, body))), {
      body: CreateClient,
      response: answers({ 201: dataOf(Client) }),
      detail: { operationId: createClient.name, summary: "Create a client" },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getClient, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(ClientDetail), 404: ErrorBody }),
      detail: { operationId: getClient.name, summary: "Get a client with its subscriptions" },
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateClient, { ...params, ...body })), {
      params: IdPath,
      body: CreateClient,
      response: answers({ 200: dataOf(Client), 404: ErrorBody }),
      detail: { operationId: updateClient.name, summary: "Rename a client" },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteClient, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: deleteClient.name,
        summary: "Delete a client",
        description: "Refused while it has active subscriptions.",
      },
    });
