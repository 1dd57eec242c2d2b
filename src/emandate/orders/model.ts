import { type Static, Type } from "@sinclair/typebox";
import { oneOf } from "../../core/schema.ts";
import { AmountAnswer, FREQUENCIES } from "../products/model.ts";

/**
 * How an order stands. `submitted` is written before the scheme is called: after a crash nobody knows whether it
 * heard, so it is asked, and the order is never sent again.
 */
export const ORDER_STATUSES = ["submitted", "pending", "succeeded", "failed"] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** What the bank was asked to change and has not answered yet. */
export const Amendment = Type.Object({
  amount: Type.Optional(AmountAnswer),
  frequency: Type.Optional(oneOf(FREQUENCIES)),
  expiry_date: Type.Optional(Type.String()),
});
export type Amendment = Static<typeof Amendment>;
