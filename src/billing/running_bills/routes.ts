import { route, routes } from "../../http/route.ts";
import { listRunningBills } from "./service.ts";

export const runningBillRoutes = routes({ tag: "Billing", admits: "company" }, [
  route("GET /running-bills", listRunningBills, {
    summary: "List what running periods come to",
    description:
      "By client, product or subscription, in each currency: whole fees and the usage so far, as it was rated at as_of or later. A job rates what usage came for, twice a minute; GET /subscriptions/{id}/preview is of now.",
  }),
]);
