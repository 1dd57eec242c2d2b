import { route, routes } from "../../http/route.ts";
import { reportMargins } from "./service.ts";

export const marginRoutes = routes({ tag: "Simulations", admits: "company" }, [
  route("GET /revenue/margins", reportMargins, {
    summary: "Report margins",
    description:
      "What months were billed less what their usage cost by a billing model of purpose cost, by client, product or charge, the smallest margin first. The costs are those of the newest finished simulation of that model over exactly these months, for all subscriptions: 409 says which POST /simulations to send first. stale says why a new simulation may come to something else.",
    errors: [409],
  }),
]);
