import { type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import {
  At,
  Id,
  nullable,
  oneOf,
  pageFields,
  Search,
  sortedBy,
  strict,
  WithFigures,
} from "../../core/schema.ts";
import { EventPattern, matchesPattern } from "../events/model.ts";

const ENDPOINT_STATUSES = ["active", "disabled"] as const;

/** How an endpoint's last deliveries ended. */
export const WebhookFigures = Type.Object(
  {
    succeeded: Type.Integer(),
    failed: Type.Integer({ description: "for good, or abandoned" }),
    pending: Type.Integer(),
    success_rate: nullable(Type.Number({ description: "0 to 1, of those that ended; null where none has" })),
    since: nullable({ ...At, description: "when the first of them was due" }),
  },
  {
    title: "WebhookFigures",
    description: `of the last ${LIMITS.webhook_figures} deliveries, with=figures`,
  },
);
export type WebhookFigures = Static<typeof WebhookFigures>;

/** A webhook endpoint: a URL, and the event types it subscribes to. */
export const Webhook = Type.Object(
  {
    id: Id,
    company_id: Id,
    url: Type.String(),
    event_types: Type.Array(Type.String(), { description: "event types and patterns" }),
    description: nullable(Type.String()),
    status: oneOf(ENDPOINT_STATUSES),
    disabled_reason: nullable(Type.String()),
    created_at: At,
    updated_at: At,
  },
  { title: "Webhook" },
);
export type Webhook = Static<typeof Webhook>;

export const WebhookDetail = Type.Object(
  { ...Webhook.properties, figures: Type.Optional(WebhookFigures) },
  { title: "WebhookDetail" },
);
export type WebhookDetail = Static<typeof WebhookDetail>;

export const WebhookWithSecret = Type.Object(
  {
    ...Webhook.properties,
    secret: Type.String({ description: "whsec_ and 32 bytes in base64; shown only in this response" }),
  },
  { title: "WebhookWithSecret" },
);

/** A signing secret; `ends_at` is null for the current one, and set for those it replaced. */
export interface SigningSecret {
  /** Sealed where the deployment has a SECRETS_KEY: decision 0061. */
  secret: string;
  ends_at: string | null;
}

const endpointFields = {
  url: Type.String({
    minLength: 1,
    maxLength: SHARED_LIMITS.url_length,
    description: `an https URL of at most ${SHARED_LIMITS.url_length} characters`,
  }),
  event_types: Type.Array(EventPattern, { minItems: 1, maxItems: LIMITS.webhook_event_types }),
  description: Type.Optional(
    nullable(
      Type.String({
        maxLength: SHARED_LIMITS.description_length,
        description: `at most ${SHARED_LIMITS.description_length} characters`,
      }),
    ),
  ),
};

const order = { sort: sortedBy(["id", "url", "created_at"]) };

export const ListWebhooks = strict({
  search: Type.Optional(Search),
  with: WithFigures,
  ...order,
  ...pageFields,
});

export const ListLoanWebhooks = strict({ with: WithFigures, ...order, ...pageFields });

export const GetWebhook = strict({ id: Id, with: WithFigures });

export const CreateWebhook = strict(endpointFields, { title: "CreateWebhook" });

/** A full replacement of the editable fields; the status stays when it is left out. */
export const UpdateWebhook = strict(
  { id: Id, ...endpointFields, status: Type.Optional(oneOf(ENDPOINT_STATUSES)) },
  { title: "WebhookChange" },
);

/** Whether an endpoint subscribes to events of this type. */
export function subscribesTo({ event_types }: Pick<Webhook, "event_types">, type: string): boolean {
  return event_types.some((pattern) => matchesPattern(pattern, type));
}
