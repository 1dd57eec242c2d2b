import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { endedWithin } from "../core/time.ts";
import type { Deps } from "../deps.ts";
import { ErrorBody } from "./errors.ts";

const PING_MS = 2_000;

const State = Type.Object({ status: Type.Literal("ok") }, { title: "State" });

/** What a supervisor asks, at the origin: alive, ready, and the numbers of the process. */
export const probes = (deps: Deps) =>
  new Elysia({ name: "probes", tags: ["Operations"] })
    .onAfterResponse({ as: "global" }, ({ request, route, set, response }) => {
      const status = response instanceof Response ? response.status : Number(set.status ?? 200);
      deps.metrics.observeRequest(request.method, route || "unknown", status);
    })
    .get("/health", () => ({ status: "ok" as const }), {
      response: { 200: State },
      detail: { summary: "Whether the process lives", security: [] },
    })
    .get(
      "/ready",
      async ({ status }) => {
        try {
          const pings = Promise.all([deps.store.ping(), deps.usage.ping(PING_MS)]);
          if ((await endedWithin(pings, PING_MS)) === null) throw new Error(`No answer within ${PING_MS} ms`);
          return { status: "ok" as const };
        } catch (error) {
          deps.log.error({ err: error }, "not ready");
          return status(503, { error: "A store does not answer" });
        }
      },
      {
        response: { 200: State, 503: ErrorBody },
        detail: { summary: "Whether both stores answer", security: [] },
      },
    )
    .get(
      "/metrics",
      async ({ set }) => {
        const { body, content_type } = await deps.metrics.print();
        set.headers["content-type"] = content_type;
        return body;
      },
      {
        response: { 200: Type.String() },
        detail: { summary: "The process's numbers, for Prometheus", security: [] },
      },
    );
