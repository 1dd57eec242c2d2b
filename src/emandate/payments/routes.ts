import { route, routes } from "../../http/route.ts";
import {
  cancelMandatePayment,
  createMandatePayment,
  getMandatePayment,
  listMandatePayments,
  retryMandatePayment,
} from "./service.ts";

export const mandatePaymentRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("POST /emandate/mandates/:id/payments", createMandatePayment, {
    summary: "Debit a mandate by hand",
    description:
      "Without a future due_date the debit is submitted before the response; else it stays scheduled until its day. It counts towards max_no_debit of the calendar period in which it is due.",
    status: 201,
    errors: [409],
  }),
  route("GET /emandate/payments", listMandatePayments, {
    summary: "List payments",
    description: "Newest first. from and to are due dates, both included.",
    sums_of: "amount",
  }),
  route("GET /emandate/payments/:id", getMandatePayment, { summary: "Get a payment with its attempts" }),
  route("POST /emandate/payments/:id/retry", retryMandatePayment, {
    summary: "Retry a payment now",
    description:
      "While its status is retry_scheduled: counts as an attempt; or while it is skipped: becomes a debit of today. A payment that failed for good stays failed.",
    errors: [409],
  }),
  route("POST /emandate/payments/:id/cancel", cancelMandatePayment, {
    summary: "Cancel a payment before it is submitted or retried",
    errors: [409],
  }),
]);
