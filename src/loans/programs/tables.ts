import { ENVIRONMENTS } from "../../core/access.ts";
import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { formTable } from "../../forms/tables.ts";
import {
  BORROWER_TYPES,
  type DocumentType,
  type Eligibility,
  PROGRAM_STATUSES,
  RATE_TYPES,
} from "./model.ts";

export const loanProgramTable = (k: ColumnKit) =>
  k.table(
    "loan_programs",
    {
      id: k.id(),
      ...companyColumn(k),
      environment: k.enumeration("environment", ENVIRONMENTS).notNull(),
      code: k.text("code").notNull(),
      name: k.text("name").notNull(),
      description: k.text("description"),
      borrower_type: k.enumeration("borrower_type", BORROWER_TYPES).notNull(),
      currency: k.text("currency").notNull(),
      min_amount: k.decimal("min_amount").notNull(),
      max_amount: k.decimal("max_amount").notNull(),
      min_tenor_months: k.integer("min_tenor_months").notNull(),
      max_tenor_months: k.integer("max_tenor_months").notNull(),
      annual_rate_min: k.decimal("annual_rate_min").notNull(),
      annual_rate_max: k.decimal("annual_rate_max").notNull(),
      rate_type: k.enumeration("rate_type", RATE_TYPES).notNull(),
      eligibility: k.json<Eligibility>("eligibility").notNull(),
      required_documents: k.json<DocumentType[]>("required_documents").notNull(),
      required_consents: k.json<string[]>("required_consents").notNull(),
      form_config_id: k.ref("form_config_id", formTable),
      /** A deleted program is archived: applications refer to it, and its code cannot be used again. */
      status: k.enumeration("status", PROGRAM_STATUSES).notNull(),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("loan_programs_code").on(t.company_id, t.environment, t.code),
      k.index("loan_programs_scope").on(t.company_id, t.environment, t.id),
      k.index("loan_programs_form").on(t.form_config_id),
    ],
  );

export const LOAN_PROGRAM_CONSTRAINTS = {
  loan_programs_code: () =>
    invalid("/code", "must be unused: a program of this environment has it or had it"),
};
