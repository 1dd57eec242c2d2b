import { sql } from "drizzle-orm";
import { ENVIRONMENTS } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { apiKeyTable } from "../../access/api_keys/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import type { Answers, FormStructure } from "../../forms/model.ts";
import type { LoanProgram } from "../programs/model.ts";
import { loanProgramTable } from "../programs/tables.ts";
import { type ActionItem, APPLICATION_STATUSES, type Borrower, type Decision, type Offer } from "./model.ts";

export const loanApplicationTable = (k: ColumnKit) =>
  k.table(
    "loan_applications",
    {
      id: k.id(),
      ...companyColumn(k),
      environment: k.enumeration("environment", ENVIRONMENTS).notNull(),
      reference: k.text("reference").notNull(),
      /** The key that created it; null for a user. */
      agent_key_id: k.ref("agent_key_id", apiKeyTable),
      /** The clientId of that key. */
      agent_client_id: k.text("agent_client_id"),
      program_id: k.ref("program_id", loanProgramTable).notNull(),
      program_snapshot: k.json<LoanProgram>("program_snapshot").notNull(),
      /** The program's form as of the submission; null before it, and without a form. */
      form_snapshot: k.json<FormStructure>("form_snapshot"),
      external_reference: k.text("external_reference"),
      status: k.enumeration("status", APPLICATION_STATUSES).notNull(),
      borrower: k.json<Borrower>("borrower").notNull(),
      /** The borrower's name, for searches. */
      borrower_name: k.text("borrower_name").notNull(),
      amount: k.decimal("amount").notNull(),
      tenor_months: k.integer("tenor_months").notNull(),
      purpose: k.text("purpose"),
      answers: k.json<Answers>("answers").notNull(),
      missing: k.json<ActionItem[]>("missing").notNull(),
      /** All items the lender has requested: required until the end, like those of the program. */
      requested: k.json<ActionItem[]>("requested").notNull().default([]),
      decision: k.json<Decision>("decision"),
      offer: k.json<Offer>("offer"),
      disbursement_reference: k.text("disbursement_reference"),
      expires_at: k.at("expires_at"),
      submitted_at: k.at("submitted_at"),
      under_review_at: k.at("under_review_at"),
      action_required_at: k.at("action_required_at"),
      approved_at: k.at("approved_at"),
      rejected_at: k.at("rejected_at"),
      accepted_at: k.at("accepted_at"),
      declined_at: k.at("declined_at"),
      withdrawn_at: k.at("withdrawn_at"),
      expired_at: k.at("expired_at"),
      disbursed_at: k.at("disbursed_at"),
      /** Deleted drafts keep their row, which documents and consents refer to. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("loan_applications_reference").on(t.reference),
      // One of concurrent calls succeeds. Users have no key and share one set of references.
      k
        .uniqueIndex("loan_applications_external")
        .on(t.company_id, t.environment, t.agent_key_id, t.external_reference)
        .where(sql`deleted_at IS NULL AND agent_key_id IS NOT NULL`),
      k
        .uniqueIndex("loan_applications_external_of_users")
        .on(t.company_id, t.environment, t.external_reference)
        .where(sql`deleted_at IS NULL AND agent_key_id IS NULL`),
      k.index("loan_applications_scope").on(t.company_id, t.environment, t.id),
      k.index("loan_applications_agent").on(t.agent_key_id, t.id),
      k.index("loan_applications_program").on(t.program_id, t.status),
      k.index("loan_applications_expiry").on(t.expires_at).where(sql`expires_at IS NOT NULL`),
    ],
  );

const taken = () =>
  new AppError("conflict", "Cannot create the application: another one has this external_reference");

export const LOAN_APPLICATION_CONSTRAINTS = {
  loan_applications_external: taken,
  loan_applications_external_of_users: taken,
};
