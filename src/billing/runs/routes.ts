import { myRoutes, route, routes } from "../../http/route.ts";
import {
  getBillingRun,
  listBillingRuns,
  listUnbilledUsage,
  previewSubscription,
  runBilling,
} from "./service.ts";

export const billingRunRoutes = routes({ tag: "Billing", admits: "company" }, [
  route("POST /billing-runs", runBilling, {
    summary: "Bill what is due",
    description:
      "Without a period: every period that ended long enough ago and has no record, oldest first. With one: the periods that start in that month, billed ones too; late usage becomes an adjustment. 202 means that the run goes on: GET /billing-runs/{id} shows its progress. A dry run writes no record and returns those that it would write; name fewer subscriptions when that takes too long.",
    goes_on: ({ status }) => status === "running",
  }),
  route("GET /billing-runs", listBillingRuns, {
    summary: "List billing runs",
    description: "Newest first; the errors are in a run's detail.",
  }),
  route("GET /billing-runs/:id", getBillingRun, { summary: "Get a billing run with its errors" }),
]);

export const unbilledUsageRoutes = routes({ tag: "Billing", admits: "company" }, [
  route("GET /unbilled-usage", listUnbilledUsage, {
    summary: "List unbilled usage",
    description:
      "As found by the daily recheck, newest first: usage that came too late for it, which a run that names the month bills, and usage dated after its subscription's end.",
  }),
]);

const PREVIEWS = [
  route("GET /subscriptions/:id/preview", previewSubscription, {
    summary: "Preview the bill of the running period",
    my: "Preview my bill of the running period",
    description:
      "The lines that its bill would have now: the whole fee, the usage so far. For a cancelled subscription: its last period. projected=true adds what the bill comes to if usage goes on as it did: sums and counts grow with the time left, levels, maxima and averages stay. Nothing is written.",
    errors: [503],
  }),
];

export const previewRoutes = routes({ tag: "Billing", admits: "company" }, PREVIEWS);
export const myPreviewRoutes = myRoutes(PREVIEWS);
