import { Type } from "@sinclair/typebox";
import { getClient, listClients } from "./service.ts";
import { page, search } from "../../mcp/params.ts";
import { finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
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

export const clientTools = [findClients];
