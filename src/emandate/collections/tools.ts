import { Type } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import { getCollectionRun, listCollectionRuns, runCollection } from "./service.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { emandate_page } from "../tools.ts";

const collect = tool({
  name: "emandate_run_collection",
  title: "Collect what is due",
  description:
    "Debits every active mandate of the company that is due: takes money from many customers. It runs every 15 minutes by itself, so that this is rarely needed. Answers the run, which goes on: emandate_find_collections tells how it ended. Ask the person first.",
  ...action(runCollection),
  brief_output: true,
  is_destructive: true,
  is_open_world: true,
  input: {
    date: describe(
      runCollection.input.properties.date,
      "As of the end of that day in Kuala Lumpur; today unless told",
    ),
  },
});

const findCollections = tool({
  name: "emandate_find_collections",
  title: "Find collection runs",
  description: "Lists collection runs with what they did, newest first, or one by collection_id.",
  ...finder("collection_id", listCollectionRuns, getCollectionRun),
  details: ["requested_by", "finished_at"],
  input: {
    collection_id: Type.Optional(describe(Id, "One run; the page then does not apply")),
    ...emandate_page,
  },
});

export const collectionTools = [collect, findCollections];
