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
export const CALLBACK_OUTCOMES = ["applied", "repeated", "ignored", "refused"] as const;
export type CallbackOutcome = (typeof CALLBACK_OUTCOMES)[number];
