import { type Static, Type } from "@sinclair/typebox";
import { Id, nullable, strict } from "../../core/schema.ts";

/** What the scheme is asked to do; each order has a number of its own, by which the scheme tells of it. */
export const ORDER_KINDS = ["enrolment", "amendment", "termination", "debit"] as const;
export type OrderKind = (typeof ORDER_KINDS)[number];

/**
 * How an order stands. `submitted` is written before the scheme is called: after a crash nobody knows whether it
 * heard, so it is asked, and the order is never sent again.
 */
export const ORDER_STATUSES = ["submitted", "pending", "succeeded", "failed"] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/**
 * What the scheme still has to say of an order: that the customer authorized it, that the bank approved it, that
 * a change or an end is confirmed, that money moved, or that it came back.
 */
export const ORDER_AWAITS = ["authorization", "approval", "confirmation", "payment", "settlement"] as const;
export type OrderAwaits = (typeof ORDER_AWAITS)[number];

/** What came of a callback. */
export const CALLBACK_OUTCOMES = ["applied", "flagged", "repeated", "ignored", "refused"] as const;
export type CallbackOutcome = (typeof CALLBACK_OUTCOMES)[number];

/** A scenario is about a mandate or about a payment, as its name says. */
export const ScenarioSubject = strict(
  { mandate_id: Type.Optional(Id), payment_id: Type.Optional(Id) },
  { title: "ScenarioSubject" },
);
export type ScenarioSubject = Static<typeof ScenarioSubject>;

export const RunScenario = strict(
  { name: Type.String(), ...ScenarioSubject.properties },
  { title: "ScenarioSubject" },
);

/** What a scenario left its subject in. */
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

/** What the scheme posts. */
export const SchemeMessage = strict({ body: Type.String() });

/** An order's number, as it stands in addresses. */
export const OrderNumber = strict({
  order_no: Type.String({ pattern: "^[A-Za-z0-9-]{1,40}$", description: "the number of an order" }),
});

/** Where a browser is led that came back. */
export const ReturnAddress = Type.Object({ location: nullable(Type.String()) });
