import { Type } from "@sinclair/typebox";
import type { AppError, ErrorKind } from "../core/errors.ts";

/** The status of each kind of error. */
export const STATUS: Record<ErrorKind, number> = {
  malformed: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timed_out: 408,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  rate_limited: 429,
  aborted: 499,
  unavailable: 503,
};

export const ErrorBody = Type.Object({ error: Type.String() }, { title: "Error" });
export const InvalidBody = Type.Object(
  {
    error: Type.String(),
    details: Type.Optional(
      Type.Array(Type.Object({ path: Type.String({ description: "JSON pointer" }), message: Type.String() })),
    ),
  },
  { title: "ValidationError" },
);

/** The headers of an error response, whatever its body. */
export function headersOf({ kind, retry_after_s }: AppError): Record<string, string> {
  return {
    ...(retry_after_s === undefined ? {} : { "retry-after": String(retry_after_s) }),
    // Cuts off a body that takes too long: the rest would be read and discarded for ever.
    ...(kind === "timed_out" ? { connection: "close" } : {}),
  };
}

/** The response to an AppError: its status and headers, `{error, details?, missing?}`, and a stream's progress. */
export function errorResponse(error: AppError, headers: Record<string, string | number> = {}): Response {
  const { message, progress, details, missing } = error;
  const body = {
    error: message,
    ...progress,
    ...(details ? { details } : {}),
    ...(missing ? { missing } : {}),
  };
  const all = new Headers(
    Object.entries({ ...headers, ...headersOf(error) }).map(([name, value]) => [name, String(value)]),
  );
  if (error.kind === "unauthorized") all.set("www-authenticate", "Bearer");
  return Response.json(body, { status: STATUS[error.kind], headers: all });
}
