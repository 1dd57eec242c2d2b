import { route, routes } from "../../http/route.ts";
import { listEvents } from "./service.ts";

export const eventRoutes = routes({ tag: "Webhooks", admits: "company" }, [
  route("GET /events", listEvents, {
    summary: "List events",
    description:
      "What happened, newest first; webhooks tell of the same. type takes a pattern such as subscription.*; from is included, to is not. Events are kept for 90 days.",
  }),
]);
