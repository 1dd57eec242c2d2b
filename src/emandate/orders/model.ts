import { type Static, Type } from "@sinclair/typebox";
import { oneOf } from "../../core/schema.ts";
import { AmountAnswer } from "../products/model.ts";
import { FREQUENCIES } from "../schedule.ts";

/**
 * The state of an order. `submitted` is written before the scheme is called: after a crash its outcome is unknown,
 * so it is polled, and the order is never sent again.
 */
export const ORDER_STATUSES = ["submitted", "pending", "succeeded", "failed"] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** The terms that an amendment changes. */
export const Amendment = Type.Object({
  amount: Type.Optional(AmountAnswer),
  frequency: Type.Optional(oneOf(FREQUENCIES)),
  expiry_date: Type.Optional(Type.String()),
});
export type Amendment = Static<typeof Amendment>;
