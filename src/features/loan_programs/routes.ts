import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  CreateLoanProgram,
  ListLoanPrograms,
  ListOpenLoanPrograms,
  LoanProgram,
  LoanProgramChange,
} from "./model.ts";
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

const ONE = answers({ 200: dataOf(LoanProgram), 404: ErrorBody });
const MOVED = answers({ 200: dataOf(LoanProgram), 404: ErrorBody, 409: ErrorBody });

export const lenderProgramRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/lender/programs", tags: ["Lending"] })
    .use(session(deps, "lender"))
    .get("", ({ ctx, query }) => call(ctx, listLoanPrograms, query), {
      query: fromText(ListLoanPrograms),
      response: answers({ 200: listed(LoanProgram) }),
      detail: {
        operationId: listLoanPrograms.name,
        summary: "List loan programs",
        description:
          "Those of the token's environment, whole, or one page when page or limit is given; search looks into codes and names.",
      },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createLoanProgram, body))), {
      body: CreateLoanProgram,
      response: answers({ 201: dataOf(LoanProgram) }),
      detail: {
        operationId: createLoanProgram.name,
        summary: "Create a loan program",
        description:
          "As a draft, in the token's environment. Amounts and percentages are strings; form_config_id is any active form of the company.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getLoanProgram, params)), {
      params: IdPath,
      response: ONE,
      detail: { operationId: getLoanProgram.name, summary: "Get a loan program" },
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateLoanProgram, { ...params, ...body })), {
      params: IdPath,
      body: LoanProgramChange,
      response: MOVED,
      detail: {
        operationId: updateLoanProgram.name,
        summary: "Change a loan program",
        description:
          "What is left out stays as it is. Applications that were submitted go by the program as it was then.",
      },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteLoanProgram, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: deleteLoanProgram.name,
        summary: "Delete a loan program",
        description: "Refused while an application to it is open. Its code stays taken.",
      },
    })
    .post("/:id/activate", ({ ctx, params }) => data(call(ctx, activateLoanProgram, params)), {
      params: IdPath,
      body: Nothing,
      response: MOVED,
      detail: {
        operationId: activateLoanProgram.name,
        summary: "Activate a loan program",
        description: "A draft, or one that is paused.",
      },
    })
    .post("/:id/pause", ({ ctx, params }) => data(call(ctx, pauseLoanProgram, params)), {
      params: IdPath,
      body: Nothing,
      response: MOVED,
      detail: {
        operationId: pauseLoanProgram.name,
        summary: "Pause a loan program",
        description: "It takes no more applications; those that were submitted go on.",
      },
    });

export const agentProgramRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/agent/programs", tags: ["Borrowing"] })
    .use(session(deps, "agent"))
    .get("", ({ ctx, query }) => call(ctx, listOpenLoanPrograms, query), {
      query: fromText(ListOpenLoanPrograms),
      response: answers({ 200: listed(LoanProgram) }),
      detail: {
        operationId: listOpenLoanPrograms.name,
        summary: "List the loan programs to apply to",
        description: "The active ones, whole, or one page when page or limit is given.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getOpenLoanProgram, params)), {
      params: IdPath,
      response: ONE,
      detail: { operationId: getOpenLoanProgram.name, summary: "Get a loan program to apply to" },
    });
