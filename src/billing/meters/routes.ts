import { route, routes } from "../../http/route.ts";
import { createMeter, deleteMeter, getMeter, listMeters, tryMeter, updateMeter } from "./service.ts";

export const meterRoutes = routes({ tag: "Meters", admits: "company" }, [
  route("GET /meters", listMeters, {
    summary: "List meters",
    description: "The whole list, or one page when page or limit is given.",
  }),
  route("POST /meters", createMeter, {
    summary: "Create a meter",
    description:
      "A meter says which events count, and what is read of each: a number, or the sum of several, each times a factor. It counts events of any age.",
    status: 201,
  }),
  route("POST /meters/try", tryMeter, {
    summary: "Try a meter on stored events",
    description: "Counts by the meter in the body, and saves nothing.",
    errors: [409],
  }),
  route("GET /meters/:id", getMeter, { summary: "Get a meter" }),
  route("PUT /meters/:id", updateMeter, {
    summary: "Change a meter",
    description:
      "What is left out stays; with another aggregation, what that does not take falls away. What it counts is frozen once a billing model that was used, or an add-on that was booked, names it, while a simulation that goes on counts by it, and while one of a cost model that did is kept.",
    errors: [409],
    if_match: true,
  }),
  route("DELETE /meters/:id", deleteMeter, {
    summary: "Delete a meter",
    description: "Refused while a billing model, an add-on or a feature names it.",
    errors: [409],
  }),
]);
