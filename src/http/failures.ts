import { type AnyElysia, Elysia, NotFoundError, ParseError, ValidationError } from "elysia";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { invalidInput } from "../core/validate.ts";
import { answerError } from "./errors.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Answers everything that is thrown, in the house's one error shape, with the request's id. */
export function failures(log: Log, routesOf: () => AnyElysia["routes"]) {
  return new Elysia({ name: "failures" })
    .onRequest(({ set }) => {
      set.headers["x-request-id"] = Bun.randomUUIDv7();
      set.headers["x-content-type-options"] = "nosniff";
    })
    .onError({ as: "global" }, ({ error, request, path, set }) => {
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(set.headers)) headers[name] = String(value);
      const known = asAppError(error, request.method, path, routesOf);
      if (!known) {
        log.error(
          { err: error, request_id: headers["x-request-id"], method: request.method, path },
          "internal error",
        );
        return Response.json({ error: "Internal error" }, { status: 500, headers });
      }
      if (known.kind === "method_not_allowed") headers.allow = allowed(path, routesOf()).join(", ");
      return answerError(known, headers);
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
  // A body that another parser refused before ours; the cause holds an AppError of our own parser.
  if (error instanceof ParseError)
    return error.cause instanceof AppError
      ? error.cause
      : new AppError("malformed", "The body can't be read");
  // Our own answer not fitting its schema is our bug, not the caller's.
  if (error instanceof ValidationError && error.type !== "response") return invalidInput(violations(error));
  return null;
}

function violations(error: ValidationError) {
  const { validator, value } = error;
  return "Errors" in validator && typeof validator.Errors === "function" ? validator.Errors(value) : [];
}

/** The methods that the path has; none when it does not exist. */
function allowed(path: string, routes: AnyElysia["routes"]): string[] {
  const matches = (pattern: string) => {
    const parts = pattern.split("/");
    const given = path.replace(/\/$/, "").split("/");
    return (
      parts.length === given.length &&
      parts.every((part, i) => (part.startsWith(":") ? given[i] !== "" : part === given[i]))
    );
  };
  const found = new Set(
    routes.filter((route) => matches(route.path.replace(/\/$/, ""))).map((route) => route.method),
  );
  return METHODS.filter((method) => found.has(method));
}
