import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS, type Environment } from "../../core/access.ts";
import { rangeFields } from "../../core/instants.ts";
import { At, Id, nullable, pageFields, sortedBy, strict } from "../../core/schema.ts";

/** Every type of domain event; docs/webhooks.md lists them. */
export const EVENT_TYPES = [
  "client.created",
  "client.updated",
  "client.deleted",
  "product.created",
  "product.updated",
  "product.deleted",
  "meter.created",
  "meter.updated",
  "meter.deleted",
  "add_on.created",
  "add_on.updated",
  "add_on.deleted",
  "billing_model.created",
  "billing_model.updated",
  "billing_model.deleted",
  "subscription.created",
  "subscription.updated",
  "subscription.cancelled",
  "subscription.add_on_added",
  "subscription.add_on_changed",
  "subscription.add_on_removed",
  "billing_model_change.scheduled",
  "billing_model_change.applied",
  "billing_model_change.cancelled",
  "billing_model_change.voided",
  "migration.finished",
  "billing_record.created",
  "billing_record.adjusted",
  "simulation.finished",
  "usage.late_unbilled",
  "usage.unmetered",
  "alert.reached",
  "limit.reached",
  "spend_limit.reached",
  "credits.threshold_reached",
  "credits.upgraded",
  "credits.downgrade_scheduled",
  "emandate.mandate.created",
  "emandate.mandate.pending_authorization",
  "emandate.mandate.authorized",
  "emandate.mandate.activated",
  "emandate.mandate.rejected",
  "emandate.mandate.failed",
  "emandate.mandate.suspended",
  "emandate.mandate.resumed",
  "emandate.mandate.cancelled",
  "emandate.mandate.amended",
  "emandate.mandate.amendment_refused",
  "emandate.mandate.amendment_withdrawn",
  "emandate.mandate.pending_termination",
  "emandate.mandate.termination_refused",
  "emandate.mandate.termination_withdrawn",
  "emandate.mandate.terminated",
  "emandate.mandate.expired",
  "emandate.payment.scheduled",
  "emandate.payment.submitted",
  "emandate.payment.paid",
  "emandate.payment.failed",
  "emandate.payment.retry_scheduled",
  "emandate.payment.charged_back",
  "emandate.payment.cancelled",
  "emandate.payment.skipped",
  "emandate.flag.raised",
  "emandate.flag.resolved",
  "application.created",
  "application.submitted",
  "application.under_review",
  "application.action_required",
  "application.approved",
  "application.rejected",
  "application.accepted",
  "application.declined",
  "application.withdrawn",
  "application.expired",
  "application.disbursed",
  "document.uploaded",
  "document.verified",
  "document.rejected",
  "consent.granted",
  "consent.revoked",
  "consent.expired",
] as const;

/** Those about loans. */
export const LOAN_TYPES = EVENT_TYPES.filter((type) => /^(application|document|consent)\./.test(type));
export type EventType = (typeof EVENT_TYPES)[number];

/** An event's payload: the record's id, its state and the ids of related records. Never personal data. */
export type EventData = Readonly<Record<string, string | number | boolean | null>>;

/** The records that have a history of events: those about what belongs to one are in its own. */
export const SUBJECT_KINDS = [
  "client",
  "product",
  "meter",
  "add_on",
  "billing_model",
  "subscription",
  "migration",
  "simulation",
  "mandate",
  "application",
] as const;

/** An event to write. */
export interface NewEvent {
  type: EventType;
  data: EventData;
}

/** Whether a pattern matches a type: the type itself, a prefix such as `subscription.*`, or `*`. */
export function matchesPattern(pattern: string, type: string): boolean {
  if (pattern === "*" || pattern === type) return true;
  return pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1));
}

/** The types that a pattern matches. */
export function typesMatching<const T extends string>(pattern: string, types: readonly T[]): T[] {
  return types.filter((type) => matchesPattern(pattern, type));
}

FormatRegistry.Set("event pattern", (text) => typesMatching(text, EVENT_TYPES).length > 0);

/** An event type, or a pattern that matches at least one. */
export const EventPattern = Type.String({
  format: "event pattern",
  maxLength: 100,
  description: "an event type such as subscription.created, a pattern such as subscription.*, or *",
  "x-schema": { type: "string", examples: ["*", "subscription.*", ...EVENT_TYPES] },
});

/** A domain event. `message_id` is sent to webhooks as `webhook-id`. */
export const Event = Type.Object(
  {
    id: Id,
    message_id: Type.String(),
    type: Type.String(),
    subject: nullable(
      Type.String({ description: "The record in whose history it is, such as subscription:7" }),
    ),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: "the record's id, its state and the ids of related records",
    }),
    company_id: Id,
    created_at: At,
  },
  { title: "Event" },
);
export type Event = Static<typeof Event>;

/** The environment of an event about loans; null for all others. */
export function environmentOf({ data }: Pick<Event, "data">): Environment | null {
  return ENVIRONMENTS.find((environment) => environment === data.environment) ?? null;
}

const Subject = Type.String({
  pattern: `^(${SUBJECT_KINDS.join("|")}):[1-9][0-9]{0,14}$`,
  description: `a record such as subscription:7, one of ${SUBJECT_KINDS.join(", ")}`,
});

/** `from` is inclusive, `to` exclusive. */
export const ListEvents = strict({
  type: Type.Optional(EventPattern),
  subject: Type.Optional(Subject),
  ...rangeFields,
  sort: sortedBy(["id"]),
  ...pageFields,
});
