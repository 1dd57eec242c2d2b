import { type NewEvent, SUBJECT_KINDS } from "./model.ts";

/** Records that belong to one with a history name it by these fields. */
const OWNERS = ["subscription", "mandate", "application"] as const;

/** The record in whose history an event is: `subscription:7`. Null where none has one. */
export function subjectOf({ type, data }: NewEvent): string | null {
  for (const kind of OWNERS) {
    const owner = data[`${kind}_id`];
    if (typeof owner === "number") return `${kind}:${owner}`;
  }
  const named = type.split(".").at(-2);
  const kind = SUBJECT_KINDS.find((known) => known === named);
  return kind !== undefined && typeof data.id === "number" ? `${kind}:${data.id}` : null;
}
