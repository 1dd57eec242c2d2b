import { type Static, Type } from "@sinclair/typebox";
import { oneOf, strict } from "../../core/schema.ts";
import type { MetadataGroup } from "../../usage_store/port.ts";
import { LIMITS } from "../limits.ts";

const RECORD_FIELDS = ["client", "product", "subscription", "billing_model"] as const;
export type RecordField = (typeof RECORD_FIELDS)[number];
/** What events are grouped and filtered by. */
export type UsageField = RecordField | MetadataGroup;

export const Field = Type.Unsafe<UsageField>(
  Type.Union(
    [
      oneOf(RECORD_FIELDS),
      // Not a template literal, whose pattern misses keys that hold a line break.
      Type.String({
        pattern: "^metadata:",
        maxLength: "metadata:".length + LIMITS.usage_metadata_key_length,
        examples: ["metadata:region"],
      }),
    ],
    {
      description:
        `one of ${RECORD_FIELDS.join(", ")} or metadata:<key>, the key of at most ` +
        `${LIMITS.usage_metadata_key_length} characters`,
    },
  ),
);

/** A condition on events. */
export const Filter = strict(
  {
    field: Field,
    op: oneOf(["is", "is_not", "contains", "present", "missing"]),
    values: Type.Optional(
      Type.Array(Type.String({ maxLength: LIMITS.usage_metadata_value_length }), {
        minItems: 1,
        maxItems: LIMITS.usage_filter_values,
        description:
          "keys as in the answer's groups, any of which may match; for contains parts of a name or value",
      }),
    ),
  },
  { title: "UsageFilter" },
);
export type UsageFilter = Static<typeof Filter>;

/** Conditions of which events must meet all. */
export const Filters = Type.Array(Filter, {
  maxItems: LIMITS.usage_filters,
  description: "events must meet all of them",
});
