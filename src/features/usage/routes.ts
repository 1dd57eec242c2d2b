import { Elysia } from "elysia";
import { call } from "../../core/operation.ts";
import type { Deps } from "../../deps.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { InvalidBody } from "../../http/errors.ts";
import { session } from "../../http/session.ts";
import { recordUsage } from "./ingest.ts";
import { FoundUsage, RecordedUsage, RecordUsage, SearchUsage } from "./model.ts";
import { searchUsage } from "./service.ts";

const SEARCH = `Without \`aggregate\`: one page of events. With it: exact sums by \`group_by\`, or one row \`total\`; then
\`page\` and \`limit\` do not apply. Groups by time come in their order, others by total_usage, unless sort_by
(\`timestamp\` is by group_key) or sort_order is given.`;

/** Ingest is not counted towards the user's request limit: the usage store bounds what may wait. */
export const ingestRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/usage", tags: ["Usage"] })
    .use(session(deps, "company", { counted: false }))
    .post("/events", async ({ ctx, body, status }) => status(201, await data(call(ctx, recordUsage, body))), {
      response: answers({
        201: dataOf(RecordedUsage),
        409: InvalidBody,
        413: ErrorBody,
        415: ErrorBody,
        503: ErrorBody,
      }),
      detail: {
        summary: "Record usage events",
        description:
          "One event, an array or {events: […]}, up to 1,000 events and 5 MB, stored whole or not at all. " +
          "The answer is sent when they are durable. A 422 names every broken event, /3/usage being the " +
          "usage of the fourth.",
        // Only described: the operation checks the body itself and names every broken event.
        requestBody: { required: true, content: { "application/json": { schema: RecordUsage } } },
      },
    });

export const usageRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/usage", tags: ["Usage"] })
    .use(session(deps, "company"))
    .post("/search", ({ ctx, body }) => call(ctx, searchUsage, body), {
      body: SearchUsage,
      response: answers({ 200: FoundUsage, 503: ErrorBody }),
      detail: { summary: "Search and sum usage", description: SEARCH },
    });

/** The same search for client users, narrowed to their client. */
export const myUsageRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/my/usage", tags: ["Self-service"] })
    .use(session(deps, "client"))
    .post("/search", ({ ctx, body }) => call(ctx, searchUsage, body), {
      body: SearchUsage,
      response: answers({ 200: FoundUsage, 503: ErrorBody }),
      detail: { summary: "Search and sum one's own usage", description: SEARCH },
    });
