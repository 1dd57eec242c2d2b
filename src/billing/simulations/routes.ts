import { attachment } from "../../http/responses.ts";
import { route, routes } from "../../http/route.ts";
import {
  createSimulation,
  deleteSimulation,
  exportSimulation,
  getSimulation,
  listSimulationRows,
  listSimulations,
} from "./service.ts";

export const simulationRoutes = routes({ tag: "Simulations", admits: "company" }, [
  route("GET /simulations", listSimulations, {
    summary: "List simulations",
    description: "Newest first; months, charges and the spread are in a simulation's detail.",
  }),
  route("POST /simulations", createSimulation, {
    summary: "Try prices on the past",
    description:
      "What months that were billed would have come to under another billing model: a draft inline, which is validated as POST /billing-models does and saved nowhere, or a stored one. It goes on in the background: GET /simulations/{id} shows how far it got. Nothing else is written.",
    status: 202,
    errors: [409],
  }),
  route("GET /simulations/:id", getSimulation, {
    summary: "Get a simulation",
    description:
      "Totals, months, charges and the spread of the differences. reproduces says whether the models that were in force come to what was billed, to the cent; else mismatches names the periods.",
  }),
  route("GET /simulations/:id/rows", listSimulationRows, {
    summary: "List a simulation's subscriptions",
    description: "What each was billed, what it would have been, and the difference; by subscription.",
  }),
  route("GET /simulations/:id/file", exportSimulation, {
    summary: "Get a simulation's subscriptions as CSV",
    errors: [409],
    sends: attachment,
    responses: {
      200: { description: "The file.", content: { "text/csv": { schema: { type: "string" } } } },
    },
  }),
  route("DELETE /simulations/:id", deleteSimulation, {
    summary: "Delete a simulation",
    description: "One that goes on stops.",
  }),
]);
