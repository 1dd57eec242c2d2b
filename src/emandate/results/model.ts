import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { Id, nullable, strict } from "../../core/schema.ts";

/** The outcome of a callback. */
export const CALLBACK_OUTCOMES = ["applied", "flagged", "repeated", "ignored", "refused"] as const;
export type CallbackOutcome = (typeof CALLBACK_OUTCOMES)[number];
/** The outcome of applying a result. */
export type ResultOutcome = Exclude<CallbackOutcome, "refused">;

/** The subject of a scenario: a mandate or a payment, as its name says. */
export const ScenarioSubject = strict(
  { mandate_id: Type.Optional(Id), payment_id: Type.Optional(Id) },
  { title: "ScenarioSubject" },
);
export type ScenarioSubject = Static<typeof ScenarioSubject>;

export const RunScenario = strict(
  { name: Type.String(), ...ScenarioSubject.properties },
  { title: "ScenarioSubject" },
);

/** A scenario that ran, with the state of its subject after it. */
export const RanScenario = Type.Object(
  {
    name: Type.String(),
    mandate_id: Id,
    payment_id: nullable(Id),
    status: Type.String({
      description: "of the payment where the scenario is about one, else of the mandate",
    }),
  },
  { title: "RanScenario" },
);
export type RanScenario = Static<typeof RanScenario>;

/** The raw body of a callback. */
export const SchemeMessage = strict({ body: Type.String() });

/** An order's number as a path field. */
export const OrderNumber = strict({
  order_no: Type.String({ pattern: "^[A-Za-z0-9-]{1,40}$", description: "the number of an order" }),
});

/** The address to which a browser that comes back from the bank is redirected. */
export const ReturnAddress = Type.Object({ location: nullable(Type.String()) });

/** What a file of results changed, with the lines that were rejected. */
export const CollectionResults = Type.Object(
  {
    applied: Type.Integer({ description: "lines that changed a payment" }),
    flagged: Type.Integer({
      description: "lines that contradict earlier results and need a decision: GET /emandate/flags",
    }),
    unchanged: Type.Integer({ description: "lines without news" }),
    rejected: Type.Integer({ description: "lines that cannot be used" }),
    rejections: Type.Array(Type.Object({ line: Type.Integer(), reason: Type.String() }), {
      description: `the first ${LIMITS.collection_file_problems}`,
    }),
  },
  { title: "CollectionResults" },
);
export type CollectionResults = Static<typeof CollectionResults>;
