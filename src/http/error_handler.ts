import { type AnyElysia, Elysia, NotFoundError } from "elysia";
import type { Deps } from "../app/deps.ts";
import { AppError } from "../core/errors.ts";
import { unavailableError } from "../store/constraints.ts";
import { errorResponse } from "./errors.ts";
import { traceIdsOf } from "./trace_request.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** The global error handler: maps thrown errors to the one JSON error body. */
export function errorHandler({ log, refusals, clock }: Deps, routesOf: () => AnyElysia["routes"]) {
  return new Elysia({ name: "failures" })
    .onRequest(({ request, set }) => {
      // Tokens, one-time secrets, a company's records: none of it may be cached.
      if (request.url.includes("/api/v1/")) set.headers["cache-control"] = "no-store";
      set.headers["x-request-id"] = Bun.randomUUIDv7();
      set.headers["x-content-type-options"] = "nosniff";
    })
    .onError({ as: "global" }, ({ error, request, path, set }) => {
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(set.headers)) headers[name] = String(value);
      const app_error = asAppError(error, request.method, path, routesOf);
      if (app_error) refusals.count(request, app_error, clock.now());
      if (app_error?.kind === "method_not_allowed") headers.allow = allowed(path, routesOf()).join(", ");
      if (!app_error || app_error.kind === "unavailable") {
        // A long segment is a link's secret.
        const shown = path.replaceAll(/[^/]{100,}/g, "…");
        const call = {
          request_id: headers["x-request-id"],
          method: request.method,
          path: shown,
          ...traceIdsOf(request),
        };
        log.error({ err: error, ...call }, app_error ? "unavailable" : "internal error");
      }
      const answer = app_error
        ? errorResponse(app_error, headers)
        : Response.json({ error: "Internal error" }, { status: 500, headers });
      // For the request counter, which reads the status here.
      set.status = answer.status;
      return answer;
    });
}

function asAppError(
  error: unknown,
  method: string,
  path: string,
  routesOf: () => AnyElysia["routes"],
): AppError | null {
  if (error instanceof AppError) return error;
  if (error instanceof NotFoundError) {
    if (allowed(path, routesOf()).length === 0)
      return new AppError("not_found", `No such path: ${method} ${path}`);
    return new AppError("method_not_allowed", `${method} is not allowed here`);
  }
  return unavailableError(error);
}

/** The methods of a path; none if it does not exist. */
function allowed(path: string, routes: AnyElysia["routes"]): string[] {
  const matches = (pattern: string) => {
    const parts = pattern.split("/");
    const segments = path.replace(/\/$/, "").split("/");
    return (
      parts.length === segments.length &&
      parts.every((part, i) => (part.startsWith(":") ? segments[i] !== "" : part === segments[i]))
    );
  };
  const found = new Set(
    routes.filter((route) => matches(route.path.replace(/\/$/, ""))).map((route) => route.method),
  );
  return METHODS.filter((method) => found.has(method));
}
