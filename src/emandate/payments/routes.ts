import { route, routes } from "../../http/route.ts";
import {
  cancelMandatePayment,
  createMandatePayment,
  getMandatePayment,
  listMandatePayments,
  retryMandatePayment,
} from "./service.ts";

export const mandatePaymentRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/payments", listMandatePayments, {
    summary: "List payments",
    description: "Newest first; from and to are days on which they are due, both included.",
  }),
  route("GET /emandate/payments/:id", getMandatePayment, { summary: "Get a payment with its attempts" }),
  route("POST /emandate/payments/:id/retry", retryMandatePayment, {
    summary: "Retry a payment now",
    description:
      "While its status is retry_scheduled, counted as an attempt; or skipped, as a debit of today. A payment that failed for good stays so.",
    errors: [409],
  }),
  route("POST /emandate/payments/:id/cancel", cancelMandatePayment, {
    summary: "Cancel a payment before it is submitted or retried",
    errors: [409],
  }),
]);

export const mandateDebitRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("POST /emandate/mandates/:id/payments", createMandatePayment, {
    summary: "Debit a mandate by hand",
    description:
      "Without a due_date, or with one that is not in the future, the debit is submitted before the answer; else it waits as scheduled. It counts towards max_no_debit of the calendar period in which it is due.",
    status: 201,
    errors: [409],
  }),
]);
