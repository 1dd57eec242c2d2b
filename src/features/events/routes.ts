import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { paged } from "../../core/schema.ts";
import { answers } from "../../http/answers.ts";
import { fromText } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { Event, ListEvents } from "./model.ts";
import { listEvents } from "./service.ts";

export const eventRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/events", tags: ["Webhooks"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listEvents, query), {
      query: fromText(ListEvents),
      response: answers({ 200: paged(Event) }),
      detail: {
        operationId: listEvents.name,
        summary: "List events",
        description:
          "What happened, newest first; webhooks tell of the same. type takes a pattern such as subscription.*; from is included, to is not. Events are kept for 90 days.",
      },
    });
