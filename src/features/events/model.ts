/** Everything that a user may want to be told of; webhooks.md lists them. */
export const EVENT_TYPES = [
  "client.created",
  "client.updated",
  "client.deleted",
  "product.created",
  "product.updated",
  "product.deleted",
  "billing_model.created",
  "billing_model.updated",
  "billing_model.deleted",
  "subscription.created",
  "subscription.updated",
  "subscription.cancelled",
  "billing_model_change.scheduled",
  "billing_model_change.applied",
  "billing_model_change.cancelled",
  "billing_record.created",
  "billing_record.adjusted",
  "credits.threshold_reached",
  "credits.upgraded",
  "credits.downgrade_scheduled",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** What an event tells: the record's id, its state and the ids of what it belongs to. Never personal data. */
export type EventData = Readonly<Record<string, string | number | boolean | null>>;

/** An event to write. */
export interface NewEvent {
  type: EventType;
  data: EventData;
}
