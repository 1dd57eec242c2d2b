import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { At, Day, Id, nullable, oneOf, pageFieldsUpTo, sortedBy, strict } from "../../core/schema.ts";
import { CONNECTORS } from "../scheme/connector.ts";

/** The states of a run; the next run makes good what an interrupted one left. */
export const COLLECTION_STATUSES = ["running", "finished", "interrupted"] as const;

/** The counts of a run so far. */
export const CollectionCounts = Type.Object(
  {
    due: Type.Integer({ description: "due mandates" }),
    scheduled: Type.Integer({ description: "payments created for them" }),
    skipped: Type.Integer({ description: "missed periods, recorded as skipped payments" }),
    submitted: Type.Integer({ description: "debits sent, those by hand and further attempts included" }),
    refused: Type.Integer({ description: "payments cancelled because the mandate does not allow them" }),
  },
  { title: "CollectionCounts" },
);
export type CollectionCounts = Static<typeof CollectionCounts>;

/** One pass over the mandates that are due. See docs/emandate.md#collection. */
export const CollectionRun = Type.Object(
  {
    id: Id,
    company_id: Id,
    status: oneOf(COLLECTION_STATUSES),
    connector: oneOf(CONNECTORS, "the connector of the debits in its file"),
    date: Type.String({ description: "it collects what is due by the end of this day in Kuala Lumpur" }),
    requested_by: nullable(Id),
    counts: CollectionCounts,
    error: nullable(Type.String({ description: "what interrupted it, or kept some debits from being sent" })),
    finished_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "CollectionRun" },
);
export type CollectionRun = Static<typeof CollectionRun>;

export const RunCollection = strict({ date: Type.Optional(Day) }, { title: "RunCollection" });

export const ListCollectionRuns = strict({
  sort: sortedBy(["id", "date", "created_at"]),
  ...pageFieldsUpTo(LIMITS.emandate_page_limit),
});
