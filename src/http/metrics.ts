import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import type { Deps } from "../app/deps.ts";
import { AppError } from "../core/errors.ts";
import { isSameSecret } from "../core/random_secrets.ts";
import { errorResponse, ErrorBody } from "./errors.ts";
import { bearerOf } from "./authentication.ts";

/** `/metrics` on the public port: with its token only, and only if it has no port of its own. */
export const metrics = (deps: Deps) =>
  new Elysia({ name: "metrics", tags: ["Operations"] }).get(
    "/metrics",
    ({ request }) => {
      const { metrics_token, metrics_port } = deps.config;
      if (metrics_token !== null && metrics_port === null) return answer(deps, request);
      throw new AppError(
        "not_found",
        metrics_port === null
          ? "Metrics are off: set METRICS_TOKEN or METRICS_PORT on the deployment"
          : "Metrics are served on METRICS_PORT only",
      );
    },
    {
      response: { 200: Type.String(), 401: ErrorBody, 404: ErrorBody },
      detail: {
        summary: "Get metrics for Prometheus",
        description: "With the bearer token METRICS_TOKEN, or at METRICS_PORT.",
        security: [{ metrics: [] }],
      },
    },
  );

/** Serves only `/metrics` on METRICS_PORT; null if it is not set. Errors: throws when the port is taken. */
export function listenForMetrics(deps: Deps): Bun.Server<undefined> | null {
  const { metrics_port, host } = deps.config;
  if (metrics_port === null) return null;
  return Bun.serve({
    port: metrics_port,
    hostname: host,
    reusePort: false,
    maxRequestBodySize: 0,
    async fetch(request) {
      try {
        const { pathname } = new URL(request.url);
        if (request.method !== "GET" || pathname !== "/metrics")
          throw new AppError("not_found", "Only GET /metrics is served here");
        return await answer(deps, request);
      } catch (error) {
        if (error instanceof AppError) return errorResponse(error);
        deps.log.error({ err: error }, "metrics failed");
        return Response.json({ error: "Internal error" }, { status: 500 });
      }
    },
  });
}

/** Errors: unauthorized. */
async function answer({ config, metrics: numbers }: Deps, request: Request): Promise<Response> {
  const { metrics_token } = config;
  if (metrics_token !== null && !isSameSecret(bearerOf(request) ?? "", metrics_token))
    throw new AppError("unauthorized", "Send METRICS_TOKEN as a bearer token");
  const { body, content_type } = await numbers.print();
  return new Response(body, { headers: { "content-type": content_type, "cache-control": "no-store" } });
}
