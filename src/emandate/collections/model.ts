import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { At, Day, Id, nullable, oneOf, pageFieldsUpTo, strict } from "../../core/schema.ts";
import { CONNECTORS } from "../scheme/connector.ts";

/** A run goes on until it is finished; one that a crash ended is interrupted, and the next makes it good. */
export const COLLECTION_STATUSES = ["running", "finished", "interrupted"] as const;

/** What a run has done so far. */
export const CollectionCounts = Type.Object(
  {
    due: Type.Integer({ description: "mandates whose day has come" }),
    scheduled: Type.Integer({ description: "payments made of them" }),
    skipped: Type.Integer({ description: "older periods that were missed" }),
    submitted: Type.Integer({ description: "debits sent, manual ones and further attempts too" }),
    refused: Type.Integer({ description: "payments given up, because the mandate does not allow them" }),
  },
  { title: "CollectionCounts" },
);
export type CollectionCounts = Static<typeof CollectionCounts>;

/** A run that collects what is due. See docs/emandate.md#collection. */
export const CollectionRun = Type.Object(
  {
    id: Id,
    company_id: Id,
    status: oneOf(COLLECTION_STATUSES),
    connector: oneOf(CONNECTORS, "whose debits its file holds"),
    date: Type.String({ description: "what is due by the end of this day in Kuala Lumpur" }),
    requested_by: nullable(Id),
    counts: CollectionCounts,
    error: nullable(
      Type.String({ description: "what ended it early, or kept a part of it from being sent" }),
    ),
    finished_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "CollectionRun" },
);
export type CollectionRun = Static<typeof CollectionRun>;

export const RunCollection = strict({ date: Type.Optional(Day) }, { title: "RunCollection" });

export const ListCollectionRuns = strict(pageFieldsUpTo(LIMITS.emandate_page_limit));
