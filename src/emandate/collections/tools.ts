import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id } from "../../core/schema.ts";
import { getCollectionRun, listCollectionRuns, runCollection } from "./service.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { getEmandateConfig } from "../merchant_config/service.ts";
import { emandate_page } from "../tools.ts";

const collect = tool({
  name: "emandate_run_collection",
  title: "Collect what is due",
  description:
    "Debits every due mandate of the company: takes money from many customers. The service does this every 15 minutes, so it is rarely needed. The run goes on after the response: emandate_find_collections shows how it ended. Ask the person first.",
  ...action(runCollection),
  is_destructive: true,
  is_open_world: true,
  input: {
    date: describe(
      runCollection.input.properties.date,
      "Up to the end of this day in Kuala Lumpur; default today",
    ),
  },
  async asks(ctx, { date }) {
    const { connector } = await call(ctx, getEmandateConfig, {});
    const money = connector === "sandbox" ? "This is the sandbox: no money moves." : "Real money moves.";
    return `Debits every mandate that is due until ${date === undefined ? "today" : date}, of all customers. ${money}`;
  },
});

const findCollections = tool({
  name: "emandate_find_collections",
  title: "Find collection runs",
  description: "Lists collection runs with their counts, newest first, or one by collection_id.",
  ...finder("collection_id", listCollectionRuns, getCollectionRun),
  details: ["requested_by", "finished_at"],
  input: {
    collection_id: Type.Optional(describe(Id, "One run; page and limit do not apply")),
    ...emandate_page,
  },
});

export const collectionTools = [collect, findCollections];
