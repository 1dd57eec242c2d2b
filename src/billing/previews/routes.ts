import { route, routes } from "../../http/route.ts";
import {
  previewBillingModelChange,
  previewCancellation,
  previewDowngrade,
  previewUpgrade,
} from "./service.ts";

const WRITES_NOTHING =
  "Refused as the request itself would be. The bill of the running period before and after, the days of proration, credits that are added, and the records that would be written at once: adjustments of closed periods, and of fees in advance. Nothing is written.";

export const changePreviewRoutes = routes(
  { tag: "Billing model changes", admits: "company", keeps_answers: false },
  [
    route("POST /subscriptions/:id/billing-model-changes/preview", previewBillingModelChange, {
      summary: "Preview a billing model change",
      description: WRITES_NOTHING,
      errors: [409, 503],
    }),
    route("POST /subscriptions/:id/upgrade/preview", previewUpgrade, {
      summary: "Preview an upgrade",
      description: WRITES_NOTHING,
      errors: [409, 503],
    }),
    route("POST /subscriptions/:id/downgrade/preview", previewDowngrade, {
      summary: "Preview a downgrade",
      description: WRITES_NOTHING,
      errors: [409, 503],
    }),
    route("POST /subscriptions/:id/cancel/preview", previewCancellation, {
      summary: "Preview a cancellation",
      description: WRITES_NOTHING,
      errors: [409, 503],
    }),
  ],
);
