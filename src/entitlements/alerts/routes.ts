import { route, routes } from "../../http/route.ts";
import { createAlert, deleteAlert, getAlert, listAlertFirings, listAlerts, updateAlert } from "./service.ts";

export const alertRoutes = routes({ tag: "Entitlements", admits: "company" }, [
  route("GET /alerts", listAlerts, {
    summary: "List alerts",
    description: "The whole list, or one page when page or limit is given.",
  }),
  route("POST /alerts", createAlert, {
    summary: "Create an alert",
    description:
      "Each threshold is told once a window and subscription, by the event alert.reached: units that a meter or a feature counts in the billing period (usage), its running charges (spend), what these come to if usage goes on as it did (forecast), or percents of a feature's limits (limit). Without a scope it is of all subscriptions; lists of a scope narrow it, and all hold. What is passed already is told at once.",
    status: 201,
    errors: [409],
  }),
  route("GET /alerts/:id", getAlert, { summary: "Get an alert" }),
  route("PUT /alerts/:id", updateAlert, {
    summary: "Change an alert",
    description:
      "What is left out stays; what it is on always does. A new threshold that is passed already is told at once, others are not told again.",
    if_match: true,
  }),
  route("DELETE /alerts/:id", deleteAlert, {
    summary: "Delete an alert",
    description: "What it has told is gone with it.",
  }),
  route("GET /alerts/:id/firings", listAlertFirings, {
    summary: "List what an alert has told",
    description: "Newest first; from and to narrow by time.",
  }),
]);
