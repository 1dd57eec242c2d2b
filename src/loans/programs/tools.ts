import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { decode } from "../../core/validate.ts";
import { data, dataOf } from "../../http/responses.ts";
import { page } from "../../mcp/params.ts";
import { finder } from "../../mcp/shapes.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { loanTool, program_id } from "../tools.ts";
import { LoanProgram, LoanProgramChange } from "./model.ts";
import {
  activateLoanProgram,
  createLoanProgram,
  getLoanProgram,
  listLoanPrograms,
  pauseLoanProgram,
  updateLoanProgram,
} from "./service.ts";

const PROGRAM_DETAILS = ["environment", "description"];

const findPrograms = loanTool({
  name: "loan_find_programs",
  title: "Find loan programs",
  description:
    "Lists loan programs, or one by id: amounts, terms, rates, eligibility, required documents and consents.",
  ...finder("program_id", listLoanPrograms, getLoanProgram),
  details: PROGRAM_DETAILS,
  input: {
    program_id: Type.Optional(program_id),
    status: describe(listLoanPrograms.input.properties.status, "Only in this state"),
    search: describe(listLoanPrograms.input.properties.search, "Text in the code or name"),
    ...page,
  },
});

const saveProgram = loanTool({
  name: "loan_save_program",
  title: "Create or change a loan program",
  description:
    "Creates a program as a draft, or changes the given terms of one; submitted applications keep theirs. A new one needs code, name, borrower_type, currency, ranges and rate_type. Then loan_switch_program.",
  operations: [createLoanProgram, updateLoanProgram],
  takes_request_id: true,
  details: PROGRAM_DETAILS,
  input: {
    program_id: Type.Optional(describe(Id, "The one to change; omit it to create one")),
    terms: describe(LoanProgramChange, "Its terms and requirements"),
  },
  output: dataOf(LoanProgram),
  run: (ctx, { program_id: id, terms }) =>
    data(
      id === undefined
        ? call(ctx, createLoanProgram, decode(createLoanProgram.input, terms))
        : call(ctx, updateLoanProgram, { id, ...terms }),
    ),
});

const SWITCHES = { activate: activateLoanProgram, pause: pauseLoanProgram };

const switchProgram = loanTool({
  name: "loan_switch_program",
  title: "Activate or pause a loan program",
  description:
    "activate opens a program to applications; pause closes it to new ones, and submitted ones continue.",
  operations: Object.values(SWITCHES),
  details: PROGRAM_DETAILS,
  input: { program_id, to: describe(oneOf(["activate", "pause"]), "Which of the two") },
  output: dataOf(LoanProgram),
  run: (ctx, { program_id: id, to }) => data(call(ctx, SWITCHES[to], { id })),
});

export const loanProgramTools = [findPrograms, saveProgram, switchProgram];
