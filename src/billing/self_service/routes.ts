import { route, routes } from "../../http/route.ts";
import {
  cancelOwnSubscription,
  downgradeOwnSubscription,
  getOwnOverview,
  listOwnPlans,
  previewOwnCancellation,
  previewOwnDowngrade,
  previewOwnUpgrade,
  upgradeOwnSubscription,
} from "./service.ts";

const group = { tag: "Self-service", admits: "client" } as const;

export const selfServiceRoutes = routes(group, [
  route("GET /my/overview", getOwnOverview, {
    summary: "Get my overview",
    description:
      "What the running periods of my subscriptions come to now, with their plans and credits, my last bill, and what I may do myself.",
    errors: [503],
  }),
  route("GET /my/plans", listOwnPlans, {
    summary: "List the plans that I may choose",
    description:
      "Those that the company offers, and those made for me; none where it lets its clients choose none.",
  }),
  route("POST /my/subscriptions/:id/upgrade", upgradeOwnSubscription, {
    summary: "Upgrade one of my subscriptions",
    description:
      "403 unless the company allows it: self_service of PUT /company. Else as the company's own upgrade.",
    errors: [409, 503],
  }),
  route("POST /my/subscriptions/:id/downgrade", downgradeOwnSubscription, {
    summary: "Downgrade one of my subscriptions",
    description: "403 unless the company allows it. Else as the company's own downgrade.",
    errors: [409, 503],
  }),
  route("POST /my/subscriptions/:id/cancel", cancelOwnSubscription, {
    summary: "Cancel one of my subscriptions",
    description: "403 unless the company allows it, at the end of the period or also now.",
    errors: [409],
  }),
]);

const PREVIEWED = "Refused as the request itself would be. Nothing is written.";

export const selfServicePreviewRoutes = routes({ ...group, keeps_answers: false }, [
  route("POST /my/subscriptions/:id/upgrade/preview", previewOwnUpgrade, {
    summary: "Preview an upgrade of one of my subscriptions",
    description: PREVIEWED,
    errors: [409, 503],
  }),
  route("POST /my/subscriptions/:id/downgrade/preview", previewOwnDowngrade, {
    summary: "Preview a downgrade of one of my subscriptions",
    description: PREVIEWED,
    errors: [409, 503],
  }),
  route("POST /my/subscriptions/:id/cancel/preview", previewOwnCancellation, {
    summary: "Preview a cancellation of one of my subscriptions",
    description: PREVIEWED,
    errors: [409, 503],
  }),
]);
