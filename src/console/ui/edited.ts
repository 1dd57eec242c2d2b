import { type Answer, type Endpoint, Failure, type Input, send } from "../api/call.ts";
import { refresh } from "../api/cache.ts";
import { isolated } from "../text/isolated.ts";
import { type Conflict, isNothing, type Values } from "./merge.ts";

/** A record that a form edits, as its fields have it. */
export interface Edited {
  /** As it was when the form was opened. */
  initial: Values;
  /** As it is now: somebody else may have changed it meanwhile. */
  read: () => Promise<Answer<Values>>;
  /** Whether the operation replaces the record: what is left out of the body is cleared. */
  is_replaced: boolean;
}

/** What a form edits of a record; `fields` makes its values, `read` asks for the record again. */
export function edited<T>(
  of: T,
  how: { fields: (of: T) => Values; read: () => Promise<Answer<T>>; is_replaced?: boolean },
): Edited {
  const { fields, read, is_replaced = false } = how;
  const readFields = async () => {
    const { data, etag } = await read();
    return { data: fields(data), etag };
  };
  return { initial: fields(of), read: readFields, is_replaced };
}

/** Reads a record past what is shown of it. Errors: Failure. */
export function readAnew<T>(from: Endpoint<T>, input: Input = {}): Promise<Answer<T>> {
  return send(from, input);
}

/** Says before it is overwritten what somebody else has saved; the page behind shows it. */
export function overtaken(conflicts: readonly Conflict[]): Failure {
  refresh();
  return new Failure("Somebody else has changed the same meanwhile. Save again to put yours in its place", {
    status: 409,
    details: conflicts.map(({ path, theirs }) => ({ path, message: `it is ${textOf(theirs)} now` })),
  });
}

const isText = (one: unknown) => typeof one === "string" || typeof one === "number";

function textOf(value: unknown): string {
  if (isNothing(value)) return "empty";
  if (typeof value === "boolean") return value ? "on" : "off";
  const texts = [value].flat();
  return texts.every(isText) ? texts.map((one) => `“${isolated(String(one))}”`).join(", ") : "another";
}
