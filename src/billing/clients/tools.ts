import { Type } from "@sinclair/typebox";
import { Id, Name } from "../../core/schema.ts";
import { createClient, getClient, listClients, updateClient } from "./service.ts";
import { page, search } from "../../mcp/params.ts";
import { finder, saver } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { client_id } from "../tools.ts";

const findClients = tool({
  name: "billing_find_clients",
  title: "Find clients",
  description:
    "Finds the company's clients by text in the name, or one by its id with its subscriptions. Start here when a person names a customer; continue with billing_find_subscriptions and the client_id.",
  ...finder("client_id", listClients, getClient),
  finds: ["client_id", "client_ids"],
  details: [],
  input: { client_id: Type.Optional(client_id), search, ...page },
});

const saveClient = tool({
  name: "billing_save_client",
  title: "Create or rename a client",
  description:
    "Creates a client, or renames the one that client_id names. Search with billing_find_clients first: two clients may have the same name.",
  ...saver("client_id", createClient, updateClient),
  takes_request_id: true,
  input: {
    client_id: Type.Optional(describe(Id, "The client to rename; leave out to create one")),
    name: describe(Name, "The client's name"),
  },
});

export const clientTools = [findClients, saveClient];
