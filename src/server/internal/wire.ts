import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { AppError } from "../../core/errors.ts";
import { STATUS } from "../../http/errors.ts";

/** Where instances ask one another, followed by what. */
export const INTERNAL = "/internal/";

/** The status for what the receiver does not own: HTTP's Misdirected Request. */
export const NOT_OWNER = 421;

const KINDS = Object.keys(STATUS).filter((kind): kind is AppError["kind"] => kind in STATUS);

/** An AppError on its way between instances: whole, so that the answer is what it would be without the way. */
const WiredError = Type.Object({
  error: Type.Object({
    kind: Type.Union(KINDS.map((kind) => Type.Literal(kind))),
    message: Type.String(),
    details: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
    retry_after_s: Type.Optional(Type.Number()),
    missing: Type.Optional(
      Type.Array(
        Type.Object({
          kind: Type.Union([Type.Literal("document"), Type.Literal("consent"), Type.Literal("field")]),
          code: Type.String(),
        }),
      ),
    ),
  }),
});

export function errorToWire({ kind, message, details, retry_after_s, missing }: AppError): Response {
  return Response.json(
    { error: { kind, message, details, retry_after_s, missing } },
    { status: STATUS[kind] },
  );
}

/** The AppError of an answer; undefined where it is none of an instance's. */
export function errorFromWire(answer: unknown): AppError | undefined {
  if (!Value.Check(WiredError, answer)) return undefined;
  const { kind, message, ...extra } = answer.error;
  return new AppError(kind, message, extra);
}
