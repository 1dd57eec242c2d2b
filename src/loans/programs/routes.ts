import { route, routes } from "../../http/route.ts";
import {
  activateLoanProgram,
  createLoanProgram,
  deleteLoanProgram,
  getLoanProgram,
  getOpenLoanProgram,
  listLoanPrograms,
  listOpenLoanPrograms,
  pauseLoanProgram,
  updateLoanProgram,
} from "./service.ts";

export const lenderProgramRoutes = routes({ tag: "Lending", admits: "lender" }, [
  route("GET /lender/programs", listLoanPrograms, {
    summary: "List loan programs",
    description:
      "Those of the token's environment, whole, or one page when page or limit is given; search looks into codes and names.",
  }),
  route("POST /lender/programs", createLoanProgram, {
    summary: "Create a loan program",
    description:
      "As a draft, in the token's environment. Amounts and percentages are strings; form_config_id is any active form of the company.",
    status: 201,
  }),
  route("GET /lender/programs/:id", getLoanProgram, { summary: "Get a loan program" }),
  route("PUT /lender/programs/:id", updateLoanProgram, {
    summary: "Change a loan program",
    description:
      "What is left out stays as it is. Applications that were submitted go by the program as it was then.",
    errors: [409],
  }),
  route("DELETE /lender/programs/:id", deleteLoanProgram, {
    summary: "Delete a loan program",
    description: "Refused while an application to it is open. Its code stays taken.",
    errors: [409],
  }),
  route("POST /lender/programs/:id/activate", activateLoanProgram, {
    summary: "Activate a loan program",
    description: "A draft, or one that is paused.",
    errors: [409],
  }),
  route("POST /lender/programs/:id/pause", pauseLoanProgram, {
    summary: "Pause a loan program",
    description: "It takes no more applications; those that were submitted go on.",
    errors: [409],
  }),
]);

export const agentProgramRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/programs", listOpenLoanPrograms, {
    summary: "List open loan programs",
    description: "The active ones, whole, or one page when page or limit is given.",
  }),
  route("GET /agent/programs/:id", getOpenLoanProgram, { summary: "Get an open loan program" }),
]);
