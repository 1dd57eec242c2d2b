import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict, Uuid } from "../../core/schema.ts";
import { SearchUsage } from "../search/model.ts";

const { subscription_ids, external_subscription_ids, metadata, start_time, end_time } =
  SearchUsage.properties;

/** Which events lose their metadata: those that meet every condition. At least one must be given. */
export const EraseUsage = strict(
  {
    subscription_ids,
    external_subscription_ids,
    metadata,
    ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: LIMITS.usage_filter_ids })),
    start_time,
    end_time,
  },
  { title: "EraseUsage" },
);
export type EraseUsage = Static<typeof EraseUsage>;

/**
 * An erasure. It names no metadata value and no event: only what it went by. `erased` counts the events that have lost
 * their metadata so far. Times are Unix ms.
 */
export const UsageErasure = Type.Object(
  {
    id: Id,
    status: oneOf(["pending", "done"]),
    subscription_ids: nullable(Type.Array(Id)),
    metadata_keys: nullable(Type.Array(Type.String())),
    ids: nullable(Type.Integer({ description: "How many ids were given" })),
    start_time: nullable(Type.Integer()),
    end_time: nullable(Type.Integer()),
    erased: Type.Integer(),
    kept_keys: Type.Optional(
      Type.Array(Type.String(), {
        description:
          "metadata keys that stay, since meters of the company read them; left out where none does",
      }),
    ),
    created_at: At,
    finished_at: nullable(At),
  },
  { title: "UsageErasure" },
);
export type UsageErasure = Static<typeof UsageErasure>;

export const ListUsageErasures = strict({ sort: sortedBy(["id", "created_at"]), ...pageFields });
