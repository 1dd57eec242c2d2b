export { ApiKeysPage } from "./api_keys.tsx";
export { DeliveriesPage } from "./deliveries.tsx";
export { EventsPage } from "./events.tsx";
export { WebhooksPage } from "./webhooks.tsx";
