import { Elysia } from "elysia";
import type { Deps } from "../app/deps.ts";

/** Counts and times every request, by its route. It comes first, so that all that follows is timed. */
export const observeRequests = ({ metrics }: Pick<Deps, "metrics">) =>
  new Elysia({ name: "observe requests" })
    .decorate("began_ms", 0)
    .onRequest((context) => {
      context.began_ms = performance.now();
    })
    .onAfterResponse({ as: "global" }, ({ request, route, set, response, began_ms }) => {
      const status = response instanceof Response ? response.status : Number(set.status ?? 200);
      metrics.observeRequest(request.method, route || "unknown", status, performance.now() - began_ms);
    });
