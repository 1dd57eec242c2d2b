import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, listed, oneOf } from "../../core/schema.ts";
import { decode } from "../../core/validate.ts";
import {
  ConsentDefinition,
  CreateDefinition,
  DefinitionChange,
  ListDefinitions,
} from "../../features/loan_consents/model.ts";
import {
  createConsentDefinition,
  createConsentDefinitionVersion,
  getConsentDefinition,
  listConsentDefinitions,
  publishConsentDefinition,
  retireConsentDefinition,
} from "../../features/loan_consents/service.ts";
import {
  CreateLoanProgram,
  ListLoanPrograms,
  LoanProgram,
  LoanProgramChange,
} from "../../features/loan_programs/model.ts";
import {
  activateLoanProgram,
  createLoanProgram,
  getLoanProgram,
  listLoanPrograms,
  pauseLoanProgram,
  updateLoanProgram,
} from "../../features/loan_programs/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { definition_id, page, program_id, refuseOthers } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

// What applications are made to, and what borrowers are asked to consent to.

const PROGRAM_DETAILS = ["environment", "description"];

const findPrograms = tool({
  name: "loan_find_programs",
  title: "Find loan programs",
  description:
    "Finds loan programs, or one by id: amounts, months, rates, who may borrow, which documents and consents are asked for.",
  level: "company",
  operations: [listLoanPrograms, getLoanProgram],
  is_for_loans: true,
  details: PROGRAM_DETAILS,
  input: {
    program_id: Type.Optional(program_id),
    status: said(ListLoanPrograms.properties.status, "Only in this state"),
    search: said(ListLoanPrograms.properties.search, "Text in the code or name"),
    ...page,
  },
  output: listed(LoanProgram),
  run: async (ctx, { program_id: id, page: at = 1, ...filter }) =>
    id === undefined
      ? call(ctx, listLoanPrograms, { ...filter, page: at })
      : { data: [await call(ctx, getLoanProgram, { id })] },
});

const saveProgram = tool({
  name: "loan_save_program",
  title: "Create or change a loan program",
  description:
    "Creates a program as a draft, or changes the terms given of one; submitted applications keep theirs. A new one needs code, name, borrower_type, currency, ranges and rate_type. Then loan_switch_program.",
  level: "company",
  operations: [createLoanProgram, updateLoanProgram],
  is_for_loans: true,
  takes_request_id: true,
  details: PROGRAM_DETAILS,
  input: {
    program_id: Type.Optional(said(Id, "The one to change; else a new one is made")),
    terms: said(LoanProgramChange, "What it offers, and asks for"),
  },
  output: dataOf(LoanProgram),
  run: (ctx, { program_id: id, terms }) =>
    data(
      id === undefined
        ? call(ctx, createLoanProgram, decode(CreateLoanProgram, terms))
        : call(ctx, updateLoanProgram, { id, ...terms }),
    ),
});

const SWITCHES = { activate: activateLoanProgram, pause: pauseLoanProgram };

const switchProgram = tool({
  name: "loan_switch_program",
  title: "Activate or pause a loan program",
  description:
    "activate lets borrowers apply to a program; pause takes no more, and what was submitted goes on.",
  level: "company",
  operations: Object.values(SWITCHES),
  is_for_loans: true,
  details: PROGRAM_DETAILS,
  input: { program_id, to: said(oneOf(["activate", "pause"]), "Which of the two") },
  output: dataOf(LoanProgram),
  run: (ctx, { program_id: id, to }) => data(call(ctx, SWITCHES[to], { id })),
});

const DEFINITION_DETAILS = ["environment", "text_sha256", "purpose_text", "data_text", "data_categories"];

const findDefinitions = tool({
  name: "loan_find_consent_definitions",
  title: "Find consent definitions",
  description:
    "Finds what borrowers are asked to consent to, or one by id. Only a published one can be consented to; detailed adds the texts.",
  level: "company",
  operations: [listConsentDefinitions, getConsentDefinition],
  is_for_loans: true,
  details: DEFINITION_DETAILS,
  input: {
    definition_id: Type.Optional(definition_id),
    code: said(ListDefinitions.properties.code, "All versions of one code"),
    status: said(ListDefinitions.properties.status, "Only in this state"),
    ...page,
  },
  output: listed(ConsentDefinition),
  run: async (ctx, { definition_id: id, page: at = 1, ...filter }) =>
    id === undefined
      ? call(ctx, listConsentDefinitions, { ...filter, page: at })
      : { data: [await call(ctx, getConsentDefinition, { id })] },
});

const text = DefinitionChange.properties;

const createDefinition = tool({
  name: "loan_create_consent_definition",
  title: "Create a consent definition",
  description:
    "Creates a text for borrowers to consent to, as a draft. In a next version what is left out stays; else all but locale and days is needed. Then loan_publish_consent_definition.",
  level: "company",
  operations: [createConsentDefinition, createConsentDefinitionVersion],
  is_for_loans: true,
  takes_request_id: true,
  details: DEFINITION_DETAILS,
  input: {
    definition_id: Type.Optional(said(Id, "Makes the next version of that one")),
    code: said(text.code, "Not for a next version"),
    locale: said(text.locale, "en unless told; not for a next version"),
    title: Type.Optional(said(text.title, "Heading")),
    purpose_text: Type.Optional(said(text.purpose_text, "What the data is for")),
    data_text: Type.Optional(said(text.data_text, "Which data that is")),
    data_categories: Type.Optional(said(text.data_categories, "In a word each")),
    audience: Type.Optional(said(text.audience, "Who gets it")),
    data_life_days: said(text.data_life_days, "How long it is kept"),
    validity_days: said(text.validity_days, "How long a consent holds"),
  },
  output: dataOf(ConsentDefinition),
  async run(ctx, { definition_id: id, ...input }) {
    if (id === undefined) return data(call(ctx, createConsentDefinition, decode(CreateDefinition, input)));
    const { code, locale, ...changed } = input;
    refuseOthers("a next version", { code, locale });
    return data(call(ctx, createConsentDefinitionVersion, { id, ...changed }));
  },
});

const PUBLISHING = { publish: publishConsentDefinition, retire: retireConsentDefinition };

const publishDefinition = tool({
  name: "loan_publish_consent_definition",
  title: "Publish or retire a consent definition",
  description:
    "publish fixes a draft's text for good and retires the version before it: consents to that one count no longer. retire ends a published one. Ask the person first.",
  level: "company",
  operations: Object.values(PUBLISHING),
  is_for_loans: true,
  is_destructive: true,
  details: DEFINITION_DETAILS,
  input: { definition_id, how: said(oneOf(["publish", "retire"]), "Which of the two") },
  output: dataOf(ConsentDefinition),
  run: (ctx, { definition_id: id, how }) => data(call(ctx, PUBLISHING[how], { id })),
});

export const loanProgramTools = [
  findPrograms,
  saveProgram,
  switchProgram,
  findDefinitions,
  createDefinition,
  publishDefinition,
];
