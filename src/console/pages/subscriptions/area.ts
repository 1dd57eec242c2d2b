export { SubscriptionPage } from "./subscription.tsx";
export { SubscriptionsPage } from "./subscriptions.tsx";
