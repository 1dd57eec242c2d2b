import { AppError, type ErrorKind } from "../../core/errors.ts";
import { STATUS } from "../../http/errors.ts";

/** Where instances ask one another, followed by what. */
export const INTERNAL = "/internal/";

/** The status for what the receiver does not own: HTTP's Misdirected Request. */
export const NOT_OWNER = 421;

/** An AppError on its way between instances: whole, so that the answer is what it would be without the way. */
interface WiredError {
  kind: ErrorKind;
  message: string;
  details?: AppError["details"];
  retry_after_s?: AppError["retry_after_s"];
  missing?: AppError["missing"];
}

export function errorToWire({ kind, message, details, retry_after_s, missing }: AppError): Response {
  const error: WiredError = { kind, message, details, retry_after_s, missing };
  return Response.json({ error }, { status: STATUS[kind] });
}

/** The AppError of an answer; undefined where it is none of an instance's. */
export function errorFromWire(answer: unknown): AppError | undefined {
  if (typeof answer !== "object" || answer === null || !("error" in answer)) return undefined;
  // An instance has signed for what it is asked, and is reached where it says: what it answers is its own.
  const error = answer.error as Partial<WiredError> | null;
  const { kind, message, ...extra } = typeof error === "object" && error !== null ? error : {};
  if (kind === undefined || !Object.hasOwn(STATUS, kind) || typeof message !== "string") return undefined;
  return new AppError(kind, message, extra);
}
