import { lendingRoutes, route, routes } from "../../http/route.ts";
import {
  activateLoanProgram,
  createLoanProgram,
  deleteLoanProgram,
  getLoanProgram,
  getOpenLoanProgram,
  listLoanInstalments,
  listLoanPrograms,
  listOpenLoanPrograms,
  pauseLoanProgram,
  updateLoanProgram,
} from "./service.ts";

const lenderRows = [
  route("GET /lender/programs", listLoanPrograms, {
    summary: "List loan programs",
    description:
      "Lists the programs of the token's environment, whole, or one page when page or limit is given. search matches codes and names.",
  }),
  route("POST /lender/programs", createLoanProgram, {
    summary: "Create a loan program",
    description:
      "Creates a draft in the token's environment. Amounts and percentages are strings; form_config_id is any active form of the company.",
    status: 201,
  }),
  route("GET /lender/programs/:id", getLoanProgram, { summary: "Get a loan program" }),
  route("GET /lender/programs/:id/instalments", listLoanInstalments, {
    summary: "List a loan's instalments by its term",
    description:
      "Of an amount within the program's range: each whole year, the shortest and the longest term, at the program's lowest and highest rate, as an offer would have it.",
  }),
  route("PUT /lender/programs/:id", updateLoanProgram, {
    summary: "Change a loan program",
    description:
      "Fields left out keep their value. Submitted applications keep the program's terms as of their submission.",
    errors: [409],
    if_match: true,
  }),
  route("DELETE /lender/programs/:id", deleteLoanProgram, {
    summary: "Delete a loan program",
    description: "Returns 409 while one of its applications is open. Its code cannot be used again.",
    errors: [409],
  }),
  route("POST /lender/programs/:id/activate", activateLoanProgram, {
    summary: "Activate a loan program",
    description: "Opens a draft or paused program to applications.",
    errors: [409],
  }),
  route("POST /lender/programs/:id/pause", pauseLoanProgram, {
    summary: "Pause a loan program",
    description: "Closes the program to new applications; submitted ones continue.",
    errors: [409],
  }),
];

export const lenderProgramRoutes = routes({ tag: "Lending", admits: "lender" }, lenderRows);
export const lendingProgramRoutes = lendingRoutes(lenderRows);

export const agentProgramRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/programs", listOpenLoanPrograms, {
    summary: "List open loan programs",
    description: "Lists the active programs, whole, or one page when page or limit is given.",
  }),
  route("GET /agent/programs/:id", getOpenLoanProgram, { summary: "Get an open loan program" }),
]);
