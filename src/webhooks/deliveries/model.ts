import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { rangeFields } from "../../core/instants.ts";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict } from "../../core/schema.ts";
import { EVENT_TYPES, LOAN_TYPES, typesMatching } from "../events/model.ts";

/** The type of test messages: no endpoint can subscribe to it, and it is not in the outbox. */
export const TEST_EVENT = "webhook.test";

const LOG_STATUSES = ["pending", "succeeded", "failed"] as const;
export type LogStatus = (typeof LOG_STATUSES)[number];

/** One attempt to call an endpoint. */
const WebhookAttempt = Type.Object(
  {
    no: Type.Integer({ minimum: 1 }),
    at: At,
    status_code: nullable(Type.Integer()),
    duration_ms: Type.Integer(),
    response_excerpt: nullable(Type.String({ description: "the beginning of the response, at most 1 KB" })),
    error: nullable(Type.String()),
  },
  { title: "WebhookAttempt" },
);
export type WebhookAttempt = Static<typeof WebhookAttempt>;

/** The body that is sent. */
const WebhookPayload = Type.Object(
  { type: Type.String(), timestamp: At, data: Type.Record(Type.String(), Type.Unknown()) },
  { title: "WebhookPayload" },
);
export type WebhookPayload = Static<typeof WebhookPayload>;

/** The delivery of one message to one endpoint. */
export const WebhookLog = Type.Object(
  {
    id: Id,
    company_id: Id,
    endpoint_id: Id,
    message_id: Type.String({ description: "sent as webhook-id, the same over all attempts" }),
    event_type: Type.String(),
    url: Type.String({ description: "where the last attempt went, or the first one will go" }),
    payload: WebhookPayload,
    status: oneOf(LOG_STATUSES),
    attempts: Type.Array(WebhookAttempt, {
      description: `oldest first; the last ${LIMITS.webhook_attempts_kept} only`,
    }),
    next_attempt_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "WebhookLog" },
);
export type WebhookLog = Static<typeof WebhookLog>;

/** Every event type that a delivery may have. */
export const LOGGED_TYPES = [...EVENT_TYPES, TEST_EVENT] as const;

FormatRegistry.Set("logged event pattern", (text) => typesMatching(text, LOGGED_TYPES).length > 0);

FormatRegistry.Set("loan event pattern", (text) => typesMatching(text, LOAN_TYPES).length > 0);

/** `from` is inclusive, `to` exclusive. */
export const ListWebhookLogs = strict({
  event_type: Type.Optional(
    Type.String({
      format: "logged event pattern",
      maxLength: 100,
      description: `an event type such as subscription.created, ${TEST_EVENT}, or a pattern such as subscription.*`,
      "x-schema": { type: "string" },
    }),
  ),
  status: Type.Optional(oneOf(LOG_STATUSES)),
  endpoint_id: Type.Optional(Id),
  ...rangeFields,
  sort: sortedBy(["id"]),
  ...pageFields,
});

/** Which messages are sent again: those that failed, unless `status` says otherwise. `from` is inclusive, `to` exclusive. */
export const RedeliverWebhooks = strict(
  {
    status: Type.Optional(oneOf(["failed", "succeeded"], "failed unless given")),
    event_type: ListWebhookLogs.properties.event_type,
    endpoint_id: Type.Optional(Id),
    ...rangeFields,
    after_id: Type.Optional({ ...Id, description: "next_after_id of the answer before, to go on" }),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.webhook_redelivered, description: "how many at once" }),
    ),
  },
  { title: "RedeliverWebhooks", examples: [{ endpoint_id: 1, event_type: "subscription.*" }] },
);
export type RedeliverWebhooks = Static<typeof RedeliverWebhooks>;

/** What was sent again. */
export const RedeliveredWebhooks = Type.Object(
  {
    redelivered: Type.Integer({ description: "messages that get one more attempt" }),
    passed_over: Type.Integer({ description: "those whose endpoint is disabled or deleted" }),
    next_after_id: nullable({ ...Id, description: "where to go on; null: these were all" }),
  },
  { title: "RedeliveredWebhooks" },
);
export type RedeliveredWebhooks = Static<typeof RedeliveredWebhooks>;

export const ListLoanWebhookLogs = strict({
  ...ListWebhookLogs.properties,
  event_type: Type.Optional(
    Type.String({
      format: "loan event pattern",
      maxLength: 100,
      description: "an event type such as application.approved, or a pattern such as document.*",
      "x-schema": { type: "string" },
    }),
  ),
});

export const RedeliverLoanWebhooks = strict(
  { ...RedeliverWebhooks.properties, event_type: ListLoanWebhookLogs.properties.event_type },
  { title: "RedeliverLoanWebhooks" },
);
