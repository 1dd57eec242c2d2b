import type { Static } from "@sinclair/typebox";
import type { ApiKey, ApiKeyWithSecret } from "../../../access/api_keys/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import type { WebhookLog } from "../../../webhooks/deliveries/model.ts";
import type { Webhook, WebhookDetail, WebhookWithSecret } from "../../../webhooks/endpoints/model.ts";
import type { Event } from "../../../webhooks/events/model.ts";
import { get, list, post, put, remove } from "../../api/call.ts";
import type { Source } from "../../ui/picker.tsx";

export const listWebhooks = list<typeof WebhookDetail>("/webhooks");
export const getWebhook = get<typeof WebhookDetail>("/webhooks/:id");
export const createWebhook = post<typeof WebhookWithSecret>("/webhooks");
export const updateWebhook = put<typeof Webhook>("/webhooks/:id");
export const deleteWebhook = remove<typeof Nothing>("/webhooks/:id");
export const rotateSecret = post<typeof WebhookWithSecret>("/webhooks/:id/rotate-secret");
export const testWebhook = post<typeof WebhookLog>("/webhooks/:id/test");
export const listDeliveries = list<typeof WebhookLog>("/webhook-logs");
export const redeliver = post<typeof WebhookLog>("/webhook-logs/:id/redeliver");
export const listEvents = list<typeof Event>("/events");

export const listApiKeys = list<typeof ApiKey>("/api-keys");
export const createApiKey = post<typeof ApiKeyWithSecret>("/api-keys");
export const rotateApiKey = post<typeof ApiKeyWithSecret>("/api-keys/:id/rotate");
export const revokeApiKey = remove<typeof Nothing>("/api-keys/:id");

export const WEBHOOKS: Source<Static<typeof WebhookDetail>> = {
  from: list<typeof WebhookDetail>("/webhooks"),
  one: getWebhook,
  nameOf: ({ url }) => url,
};
