import { route, routes } from "../../http/route.ts";
import { listEvents } from "./service.ts";

export const eventRoutes = routes({ tag: "Webhooks", admits: "company" }, [
  route("GET /events", listEvents, {
    summary: "List events",
    description:
      "Newest first; webhooks deliver the same events. type takes a pattern such as subscription.*, subject a record whose history is meant, such as subscription:7; from is inclusive, to exclusive. Events are kept for 90 days.",
  }),
]);
