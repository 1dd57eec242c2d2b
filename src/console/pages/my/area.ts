export { MyBillPage, MyBillsPage } from "./bills.tsx";
export { MyOverviewPage } from "./overview.tsx";
export { MySubscriptionPage } from "./subscription.tsx";
