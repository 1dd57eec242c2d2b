import { route, routes } from "../../http/route.ts";
import { checkUsage, freeReservation } from "./service.ts";

const admits = ["company", "gateway"] as const;

/** Asked before each use: like ingest beside the request limit. */
export const checkRoutes = routes({ tag: "Entitlements", admits, counted: false }, [
  route("POST /usage/check", checkUsage, {
    summary: "Check whether a subscription may go on",
    description:
      "By all usage answered before, as its bill counts it. reserve_s also holds the units: send the usage under the reservation's id, which settles it once, however often it is sent. A soft limit that is passed allows, with the reason limit.",
  }),
  route("DELETE /usage/reservations/:id", freeReservation, {
    summary: "Free a reservation",
    description: "404 when it was settled or has ended.",
  }),
]);
