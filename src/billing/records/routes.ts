import { HTML_PAGE, page } from "../../http/responses.ts";
import { myRoutes, route, routes } from "../../http/route.ts";
import {
  findEventLines,
  getBillingRecord,
  getInvoice,
  listBillingRecords,
  verifyBillingRecord,
} from "./service.ts";

const ORDER =
  "Newest first, unless sort says otherwise. from, to and month are about the start of the period; with=names adds the names of subscription and client, sums=true what all that match come to, by currency. A record's lines are in its detail.";

const VERIFY =
  "Counts the events of each usage line that were stored when the record was written (expected) and compares them with the record (actual). Prices, amounts and sums are recalculated too; differences lists every field that is wrong. Usage that arrives later changes nothing.";

const RECORDS = [
  route("GET /billing-records", listBillingRecords, {
    summary: "List billing records",
    my: "List my billing records",
    description: ORDER,
    sums_of: "totalCharges",
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
  route("GET /usage/events/:id/bill-lines", findEventLines, {
    summary: "Find the lines of bills that count a usage event",
    my: "Find the lines of my bills that count a usage event",
    description:
      "The event is found by its id, its subscription and its timestamp. A line counts it once it was stored: the first bill's, or an adjustment's where it came late; takes_back says that an adjustment took that away, as when a plan change is voided.",
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
