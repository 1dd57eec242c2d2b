import { HTML_PAGE, page } from "../../http/responses.ts";
import { myRoutes, route, routes } from "../../http/route.ts";
import { getBillingRecord, getInvoice, listBillingRecords, verifyBillingRecord } from "./service.ts";

const ORDER = "The last written first. A record's lines are in its detail.";

const VERIFY =
  "Of each usage line: what the events come to that were stored when the record was written (expected), and what the record says (actual). Prices, amounts and sums are worked out again too: differences names what is not as it should be. It stays true when usage arrives later.";

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
