import { HTML_PAGE, page } from "../../http/responses.ts";
import { myRoutes, route, routes } from "../../http/route.ts";
import {
  getBillingRecord,
  getBillingRun,
  listBillingRecords,
  listBillingRuns,
  listUnbilledUsage,
  runBilling,
} from "./service.ts";
import { getInvoice, previewSubscription, verifyBillingRecord } from "../records/statements.ts";

const ORDER = "The last written first. A record's lines are in its detail.";

const VERIFY =
  "Of each usage line: what the events come to that were stored when the record was written (expected), and what the record says (actual). Prices, amounts and sums are worked out again too: differences names what is not as it should be. It stays true when usage arrives later.";

export const billingRunRoutes = routes({ tag: "Billing", admits: "company" }, [
  route("POST /billing-runs", runBilling, {
    summary: "Bill what is due",
    description:
      "Without a period: every period that ended long enough ago and has no record, oldest first. With one: the periods that start in that month, again too; late usage becomes an adjustment. 202 means that the run goes on: GET /billing-runs/{id} tells how far it is. A dry run writes no record and answers those that it would write; name fewer subscriptions when it takes too long to answer them.",
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
      "As the daily recheck found it, the latest found first: usage that came too late for it, which a run that names the month bills, and usage dated after its subscription's end.",
  }),
]);

const RECORDS = [
  route("GET /billing-records", listBillingRecords, {
    summary: "List billing records",
    my: "List my billing records",
    description: ORDER,
  }),
  route("GET /billing-records/:id", getBillingRecord, {
    summary: "Get a billing record with its lines and subscription",
    my: "Get one of my billing records",
  }),
  route("GET /billing-records/:id/verify", verifyBillingRecord, {
    summary: "Verify a billing record against its events",
    description: VERIFY,
    errors: [503],
  }),
  route("GET /billing-records/:id/invoice", getInvoice, {
    summary: "Get a billing record as a printable page",
    my: "Get one of my billing records as a printable page",
    sends: page,
    responses: HTML_PAGE,
  }),
];

export const billingRecordRoutes = routes({ tag: "Billing", admits: "company" }, RECORDS);
export const myBillingRoutes = myRoutes(RECORDS);

const PREVIEWS = [
  route("GET /subscriptions/:id/preview", previewSubscription, {
    summary: "Preview the bill of the running period",
    my: "Preview my bill of the running period",
    description:
      "The lines that a bill of it would have now: the fee whole, the usage so far. Of a cancelled subscription its last period. Nothing is written.",
    errors: [503],
  }),
];

export const previewRoutes = routes({ tag: "Billing", admits: "company" }, PREVIEWS);
export const myPreviewRoutes = myRoutes(PREVIEWS);
