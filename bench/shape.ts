import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** Takes what came from outside for what it should be. Errors: throws when it is something else. */
export function shaped<T extends TSchema>(shape: T, value: unknown, what: string): Static<T> {
  if (Value.Check(shape, value)) return value;
  throw new Error(`Cannot read ${what}: ${JSON.stringify(value)?.slice(0, 500)}`);
}
