export { BillPage } from "./bill.tsx";
export { BillsPage } from "./bills.tsx";
export { CreditsPage } from "./credits.tsx";
export { RevenuePage } from "./revenue.tsx";
export { RunningBillsPage } from "./running_bills.tsx";
export { RunPage, RunsPage } from "./runs.tsx";
export { UnbilledUsagePage } from "./unbilled_usage.tsx";
