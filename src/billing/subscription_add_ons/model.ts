import { type Static, Type } from "@sinclair/typebox";
import { InstantText } from "../../core/instants.ts";
import { At, Id, nullable, pageFields, strict } from "../../core/schema.ts";
import { DecimalInput, DecimalText } from "../decimals.ts";

/** A booking: an add-on of a subscription, `[from, until)`. Decision 0247. */
export const SubscriptionAddOn = Type.Object(
  {
    id: Id,
    subscription_id: Id,
    add_on_id: Id,
    quantity: DecimalText,
    from: At,
    until: nullable({ ...At, description: "null: for as long as the subscription lives" }),
    adjustment_billing_record_ids: Type.Array(Id, {
      description: "adjustments of closed periods, from when it was booked, changed and removed",
    }),
    created_at: At,
    updated_at: At,
  },
  { title: "SubscriptionAddOn" },
);
export type SubscriptionAddOn = Static<typeof SubscriptionAddOn>;

/** What a booking is made of. */
export type Booking = Pick<SubscriptionAddOn, "add_on_id" | "quantity" | "from" | "until">;

export const ListSubscriptionAddOns = strict({ id: Id, ...pageFields });

const fields = {
  quantity: Type.Optional(DecimalInput),
  from: Type.Optional(InstantText),
  until: Type.Optional(nullable(InstantText)),
};

export const AddSubscriptionAddOn = strict(
  { id: Id, add_on_id: Id, ...fields },
  {
    title: "AddSubscriptionAddOn",
    examples: [{ add_on_id: 1, quantity: "3", from: "2026-01-15T00:00:00Z" }],
  },
);

/** The ids of a subscription and of one of its bookings. */
const path = { id: Id, bookingId: Id };

export const ChangeSubscriptionAddOn = strict(
  { ...path, ...fields },
  { title: "ChangeSubscriptionAddOn", examples: [{ quantity: "5" }] },
);

export const RemoveSubscriptionAddOn = strict(path);
