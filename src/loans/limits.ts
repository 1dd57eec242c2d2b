/** Hard limits of loan applications, documents and consents. */
export const LIMITS = {
  /** Loans: months over which one is paid back, and texts that come with an application. */
  loan_tenor_months: 600,
  loan_code_length: 50,
  loan_purpose_length: 200,
  loan_reference_length: 64,
  /** Consents that a program may ask for, and things that a lender may ask for at once. */
  loan_required_consents: 20,
  loan_action_items: 50,
  /** How long an offer stands where it says nothing else, and how long an unsent application is kept waiting. */
  loan_offer_days: 30,
  loan_idle_days: 90,
  /** Applications that are ended in one transaction. */
  loan_expiry_batch: 50,
  /** A document of a loan application; what its multipart body may be longer; what comes with the file. */
  document_bytes: 10 * 1024 * 1024,
  document_envelope_bytes: 64 * 1024,
  document_field_bytes: 1_000,
  document_name_length: 200,
  /** Documents of an application, superseded ones too. */
  documents_application: 50,
  /** How long a document may take to come in. */
  document_upload_ms: 120_000,
  /** A file that no document refers to, or that never became one, is removed when it is so old. */
  document_orphan_minutes: 60,
  /** Broken files that `doctor` names. */
  document_problems: 5,
  /** A reason or a note about a document, a consent or a decision. */
  loan_note_length: 500,
  locale_length: 35,
  consent_text_length: 10_000,
  consent_audience_length: 100,
  consent_categories: 50,
  /** How long a consent may hold, and its data be kept: a hundred years. */
  consent_days: 36_525,
  /** Consents of an application, whatever became of them. */
  consents_application: 200,
  /** How far the clock that stamped a consent may be ahead of ours. */
  consent_ahead_ms: 5_000,
  ip_length: 45,
  user_agent_length: 500,
} as const;
